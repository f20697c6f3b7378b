"""Pages run as the server runs them."""

from tests.served import as_served as as_served
