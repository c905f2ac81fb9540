package config

// DataProcessor is the section `data_processor`: what happens to tasks before a run and to experiences before
// training.
type DataProcessor struct {
	TaskPipeline       *TaskPipeline      `yaml:"task_pipeline"`
	ExperiencePipeline ExperiencePipeline `yaml:"experience_pipeline,null"`
}

// TaskPipeline is the section `data_processor.task_pipeline`.
type TaskPipeline struct {
	Operators       []Operator     `yaml:"operators"`
	NumProcess      int            `yaml:"num_process"`
	ConfigPath      string         `yaml:"config_path,null"`
	Inputs          []string       `yaml:"inputs"`
	Output          *Taskset       `yaml:"output"`
	TargetFields    []string       `yaml:"target_fields"`
	PriorityWeights map[string]any `yaml:"priority_weights"`
	TopK            int            `yaml:"top_k"`
}

func (p *TaskPipeline) defaults() {
	p.NumProcess = 4
	p.TopK = -1
}

// ExperiencePipeline is the section `data_processor.experience_pipeline`.
type ExperiencePipeline struct {
	Operators     []Operator                  `yaml:"operators"`
	SaveInput     bool                        `yaml:"save_input"`
	InputSavePath string                      `yaml:"input_save_path,null"`
	Inputs        map[string]ExperienceBuffer `yaml:"inputs"`
	Output        *ExperienceBuffer           `yaml:"output"`
}

func (p *ExperiencePipeline) defaults() { p.SaveInput = true }

// Operator is one step of a pipeline.
type Operator struct {
	Name string         `yaml:"name"`
	Args map[string]any `yaml:"args"`
}
