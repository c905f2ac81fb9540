package config

// Cluster is the section `cluster`. Its keys describe GPUs and Ray nodes; they are accepted and do not apply here.
type Cluster struct {
	RayAddress string `yaml:"ray_address" applies:"no"`
	NodeNum    int    `yaml:"node_num" applies:"no"`
	GPUPerNode int    `yaml:"gpu_per_node" applies:"no"`

	_ struct{} `auto:"total_gpu_num,rollout_gpu_num,auxiliary_model_gpu_num,explorer_gpu_num,trainer_gpu_num"`
	_ struct{} `auto:"trainer_node_num,trainer_gpu_num_per_node"`
}

func (c *Cluster) defaults() { c.RayAddress = "auto" }
