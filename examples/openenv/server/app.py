"""The server: uvicorn server.app:app."""

import os

from openenv.core.env_server.http_server import create_app

from .threes import Guess, Hint, Threes

app = create_app(Threes, Guess, Hint, env_name="threes",
                 max_concurrent_envs=int(os.getenv("MAX_CONCURRENT_ENVS", "64")))
