"""Network namespaces as hosts: what ganboard promises on several machines, tried on one."""
