package config

// Stage is one entry of `stages`: whole sections that replace those of the file for one part of a run.
type Stage struct {
	StageName     string         `yaml:"stage_name"`
	Mode          *Mode          `yaml:"mode"`
	Algorithm     *Algorithm     `yaml:"algorithm"`
	Buffer        *Buffer        `yaml:"buffer"`
	DataProcessor *DataProcessor `yaml:"data_processor"`
	Explorer      *Explorer      `yaml:"explorer"`
	Trainer       *Trainer       `yaml:"trainer"`
}
