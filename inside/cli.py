"""What the tests, the board and the side trees use of cli beside the public names."""

from fairtrial.cli import _numbers as _numbers
from fairtrial.cli import check_installed as check_installed
from fairtrial.cli import command_help as command_help
from fairtrial.cli import live as live
from fairtrial.cli import main as main
from fairtrial.cli import method_commands as method_commands
from fairtrial.cli import printing as printing
from fairtrial.cli import program as program
from fairtrial.cli import run as run
from fairtrial.cli.method_commands import Question as Question
from fairtrial.cli.method_commands import parameter_name as parameter_name
from fairtrial.cli.method_commands import questions as questions
from fairtrial.cli.method_commands import read_one as read_one
from fairtrial.cli.report import report as report
from fairtrial.cli.serve import _listen as _listen
from fairtrial.cli.speech import CommandSpeech as CommandSpeech
