package workflow

// elsewhere says why a workflow of Trinity-RFT is not here, "" for any other name.
func elsewhere(name string) string {
	const agentScope = "its agents are AgentScope's, a Python package; an agent of any kind can carry out the " +
		"rollouts of rollout_workflow (examples/agent), or sample through mode serve, the OpenAI-compatible proxy"
	return map[string]string{
		"alfworld_workflow":              "its world is ALFWorld, a Python package",
		"step_wise_alfworld_workflow":    "its world is ALFWorld, a Python package",
		"RAFT_alfworld_workflow":         "its world is ALFWorld, a Python package",
		"RAFT_reflect_alfworld_workflow": "its world is ALFWorld, a Python package",
		"intercode_sql_workflow":         "its world is InterCode's, a Python package and a Docker image with MySQL",
		"sciworld_workflow":              "its world is ScienceWorld, a Java program",
		"webshop_workflow":               "its world is WebShop, a Python program",
		"simple_mm_workflow":             "it reads images and videos, and models here read text",
		"async_simple_mm_workflow":       "it reads images and videos, and models here read text",
		"math_rm_workflow": "its rewards are RM-Gallery's and OpenJudge's, Python packages; " +
			"rubric_judge_workflow asks a judge",
		"async_math_rm_workflow": "its rewards are RM-Gallery's and OpenJudge's, Python packages; " +
			"rubric_judge_workflow asks a judge",
		"agentscope_workflow_adapter":         agentScope,
		"agentscope_workflow_adapter_v1":      agentScope,
		"agentscope_react_workflow":           agentScope,
		"as_react_workflow":                   agentScope,
		"agentscope_react_math_workflow":      agentScope,
		"agentscopev0_react_math_workflow":    agentScope,
		"agentscope_v1_react_search_workflow": agentScope,
		"email_search_workflow":               agentScope,
	}[name]
}
