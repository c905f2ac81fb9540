"""What a user of Python's huggingface_hub does with the cache, for TestPython."""

import sys

import huggingface_hub as hub

what, *args = sys.argv[1:]
if what == "snapshot":
    print(hub.snapshot_download(args[0], allow_patterns=args[1:] or None))
elif what == "dataset":
    print(hub.snapshot_download(args[0], repo_type="dataset"))
elif what == "file":
    print(hub.hf_hub_download(args[0], args[1]))
elif what == "scan":
    info = hub.scan_cache_dir()
    assert not info.warnings, info.warnings
    for repo in info.repos:
        for rev in repo.revisions:
            print(repo.repo_id, repo.repo_type, len({f.blob_path for f in rev.files}), rev.commit_hash, *rev.refs)
