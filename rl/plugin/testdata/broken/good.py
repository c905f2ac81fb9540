from trinity.common.workflows import WORKFLOWS, Workflow


@WORKFLOWS.register_module("good_workflow")
class Good(Workflow):
    def run(self):
        made = self.model.chat([{"role": "user", "content": self.task.task_desc}], n=1)
        made[0].reward = 1.0
        return made
