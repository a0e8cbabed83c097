"""`strobe uninstall`, which stands beside its counterpart."""

from strobe.cli.install_command import uninstall as uninstall
