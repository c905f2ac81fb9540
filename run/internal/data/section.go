package data

import "github.com/seed-d9ad8ee0/trinity/config"

// Section is a taskset as Python readers get it.
func Section(t *config.Taskset) map[string]any {
	return map[string]any{"name": t.Name, "storage_type": t.StorageType, "path": t.Path, "split": t.Split,
		"subset_name": orNull(t.SubsetName), "format": formatOf(t.Format), "workflow_args": t.WorkflowArgs,
		"reward_fn_args": t.RewardFnArgs, "default_workflow_type": t.DefaultWorkflowType,
		"default_reward_fn_type": orNull(t.DefaultRewardFnType), "repeat_times": t.RepeatTimes}
}

// formatOf is the section format of a taskset as Python workflows get it: what is not given is null.
func formatOf(f config.Format) map[string]any {
	m := map[string]any{"prompt_type": string(f.PromptType), "prompt_key": f.PromptKey,
		"response_key": f.ResponseKey, "messages_key": f.MessagesKey, "tools_key": f.ToolsKey,
		"workflow_key": f.WorkflowKey, "reward_fn_key": f.RewardFnKey, "chosen_key": f.ChosenKey,
		"rejected_key": f.RejectedKey, "enable_concatenated_multi_turn": f.ConcatenatedTurn}
	for k, v := range map[string]string{"system_prompt": f.SystemPrompt, "system_prompt_key": f.SystemPromptKey,
		"reply_prefix": f.ReplyPrefix, "chat_template": f.ChatTemplate, "image_key": f.ImageKey,
		"video_key": f.VideoKey} {
		m[k] = orNull(v)
	}
	if f.EnableThinking != nil {
		m["enable_thinking"] = *f.EnableThinking
	}
	return m
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
