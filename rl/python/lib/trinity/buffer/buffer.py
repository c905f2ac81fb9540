"""Readers and writers by the storage_type of a configuration."""

from trinity import _missing
from trinity.buffer.buffer_reader import BufferReader
from trinity.buffer.buffer_writer import BufferWriter
from trinity.buffer.reader import READER
from trinity.common.config import StorageConfig
from trinity.common.constants import StorageType

__getattr__ = _missing.attribute(__name__)
__all__ = ["BufferReader", "BufferWriter", "get_buffer_reader", "get_buffer_writer"]


def get_buffer_reader(config):
    """The reader of a taskset, a buffer or a StorageConfig: of its files, or one that a plug-in file registers."""
    config = _storage(config)
    if config.storage_type in (StorageType.SQL.value, StorageType.QUEUE.value):
        raise _missing.error(f"trinity.buffer.storage (storage_type {config.storage_type})")
    return READER.get(config.storage_type)(config)


def get_buffer_writer(config):
    """The writer of JSON lines of a configuration."""
    from trinity.buffer.writer.file_writer import JSONWriter

    config = _storage(config)
    if config.storage_type != StorageType.FILE.value:
        raise _missing.error(f"trinity.buffer.writer (storage_type {config.storage_type})")
    return JSONWriter(config)


def _storage(config):
    return config if isinstance(config, StorageConfig) else config.to_storage_config()
