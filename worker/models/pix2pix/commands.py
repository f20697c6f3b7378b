"""The commands of pix2pix."""

from ganboard.worker.models.pix2pix import flow, predict

COMMANDS = {"": (predict.predict,), "data": (flow.flow,)}
