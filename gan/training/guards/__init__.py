"""What watches over a training: values that are not finite, metrics that go bad, steps that never
end."""
