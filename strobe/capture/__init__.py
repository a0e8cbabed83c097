"""The programs under observation. The only part that imports frida, which some limits do not leave alive."""

from strobe.capture.limits import check_address_space

check_address_space()
