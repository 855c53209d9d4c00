#!/usr/bin/env node
// Plain JavaScript for Node 18 and up.
process.exitCode = 0;
