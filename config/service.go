package config

// Service is the section `service`: programs beside the run.
type Service struct {
	DataJuicer *DataJuicer `yaml:"data_juicer" applies:"no"`
}

// DataJuicer is the section `service.data_juicer`: where the Data-Juicer operators run.
type DataJuicer struct {
	ServerURL string `yaml:"server_url,null"`
	AutoStart bool   `yaml:"auto_start"`
	Port      *int   `yaml:"port"`
}
