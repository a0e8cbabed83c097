"""The programs under observation. The only part that imports frida, which some limits do not leave alive."""

from strobe.capture.limits import check_memory, check_threads

check_memory()
check_threads()
