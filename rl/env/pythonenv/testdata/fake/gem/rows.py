from datasets import Dataset


class Rows:
    def __init__(self, dataset, question_key="problem"):
        assert isinstance(dataset, Dataset)
        self.dataset, self.key = dataset, question_key

    def reset(self, seed=None):
        self.row = self.dataset[seed % len(self.dataset)]
        return self.row[self.key], {}

    def step(self, action):
        right = f"\\boxed{{{self.row['answer']}}}" in action
        return "over", float(right), True, True, {"correct": right}
