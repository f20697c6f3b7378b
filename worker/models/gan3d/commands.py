"""The commands of the 3DGAN."""

from ganboard.worker.models.gan3d import data

COMMANDS = {"data": (data.showers, data.check, data.convert)}
