"""The commands for programs and assistants that use ganboard."""
