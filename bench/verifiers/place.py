"""Places the rows of a JSON Lines file where Hugging Face's datasets finds them offline: place.py REPOSITORY CONFIG SPLIT ROWS.jsonl

The cache is that of HF_HOME. Tests do so with rows of their own, since an environment must not be changed.
"""

import sys

from datasets.packaged_modules.json.json import Json

repository, config, split, rows = sys.argv[1:]
builder = Json(dataset_name=repository.split("/")[-1], config_name=config, hash="placed", data_files={split: [rows]})
builder.repo_id, builder.config_id = repository, config
builder._cache_dir = builder._build_cache_dir()
builder.download_and_prepare()
