"""What matters in the long outputs of tests, compilers and linters: what failed comes first."""
