import json

import no_such_package_anywhere
