"""The top level of this environment's site-packages, a name a line, sorted."""

import os
import sysconfig

print("\n".join(sorted(set(os.listdir(sysconfig.get_path("purelib"))) - {"__pycache__"})))
