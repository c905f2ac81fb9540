"""What is recorded of a run: the calls at its URL, and answers that a workflow asked to be recorded."""

from trinity._plugin import wire
from trinity.buffer.store import ExperienceUpdate, MemoryStore, parse_record_key
from trinity.common.experience import EID, Experience
from trinity.common.models.recording.merger import PrefixExperienceMerger


class Records:
    """The part of ModelWrapper that keeps records. Calls that continue a conversation are one experience with it."""

    def __init__(self):
        self.store = MemoryStore()
        self._merger = PrefixExperienceMerger(self.store)
        self._key = None  # BATCH/TASK/RUN
        self._fetched = 0  # calls at the URL

    def _keep(self, made):
        """Records experiences under the key of the run."""
        batch, task, run = parse_record_key(self._key or "")
        for i, exp in enumerate(made):
            exp.eid = EID(batch, task, run, 0, f"{len(self.store) + 1:06x}" if exp._sampled is None else
                          f"{exp._sampled[0] + 1:06x}")
            if len(made) > 1:
                exp.info["sample_index"] = i
            if not self._merger.try_merge(self._key, exp):
                self.store.add(self._key, [exp])
                self._merger.remember(self._key, exp)

    def _take_calls(self, answers):
        self._fetched += len(answers)
        for a in answers:
            self._keep([wire.sampled(a)])

    def _fetch(self):
        """Takes over what the URL has recorded since."""
        if self.api_address is not None:
            self._take_calls(self._up("model.recorded", {"from": self._fetched}))

    async def _fetch_async(self):
        if self.api_address is not None:
            self._take_calls(await self._up_async("model.recorded", {"from": self._fetched}))

    def _recorded(self, key, remove):
        self._fetch()
        if not remove:
            return self.store.get(key)
        self._merger.forget_record(key)
        return self.store.remove(key)

    async def drain_async(self):
        """All that is recorded, which is forgotten."""
        await self._fetch_async()
        return self.store.remove("")

    def update_experience_records(self, key, update, sample_ids=None):
        """Sets what an ExperienceUpdate has on the recorded experiences of a key, or on those with the sample ids."""
        self._fetch()
        if self.store.get(key):
            self.store.update(key, update, sample_ids)

    async def update_experience_records_async(self, key, update, sample_ids=None):
        await self._fetch_async()
        if self.store.get(key):
            self.store.update(key, update, sample_ids)

    def update_experience_reward(self, key, reward, info=None, sample_ids=None):
        """Sets their reward, and adds to their info."""
        self.update_experience_records(key, ExperienceUpdate(reward, info), sample_ids)

    async def update_experience_reward_async(self, key, reward, info=None, sample_ids=None):
        await self.update_experience_records_async(key, ExperienceUpdate(reward, info), sample_ids)

    async def overwrite_history_experiences_async(self, experiences, key):
        """Puts experiences in the place of what is recorded under a key."""
        await self._fetch_async()
        self._merger.forget_record(key)
        self.store.overwrite(key, list(experiences))

    async def drain_experience_records_bytes_async(self, prefix):
        """What is recorded under a key or a prefix, as bytes; it is forgotten."""
        await self._fetch_async()
        return Experience.serialize_many(self.store.remove(prefix))

    async def delete_experience_records_async(self, prefix):
        await self._fetch_async()
        self.store.remove(prefix)

    async def block_experience_records_async(self, prefix):
        """Records nothing more of a batch."""
        self.store.block_prefix(prefix)
