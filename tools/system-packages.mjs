/**
 * The system parts Palyra stands on, in one table. A need is an executable's name, looked up in PATH and `in`, or an
 * absolute path; nothing is started to find out. `tools/setup.mjs` installs what is missing.
 *
 * @typedef {{ apt: string, needs: string[], in?: string[], why: string }} SystemPackage
 * @typedef {'product' | 'tests' | 'bench' | 'agents'} SystemGroup
 */

/** @type {Record<SystemGroup, SystemPackage[]>} */
export const SYSTEM_PACKAGES = {
  product: [
    { apt: 'bubblewrap', needs: ['bwrap'], why: 'Tier C runs every tool inside it' },
    { apt: 'gcc', needs: ['cc'], why: 'compiles the launcher' },
    { apt: 'libc6-dev', needs: ['/usr/include/stdio.h'], why: 'the C library the launcher is compiled against' },
    { apt: 'git', needs: ['git'], why: 'workspaces are shown and undone as git sees them' },
    { apt: 'curl', needs: ['curl'], why: 'the demo and the API examples call with it' },
    { apt: 'python3', needs: ['python3'], why: 'the demo runs an interpreter in the sandbox' },
    {
      apt: 'ca-certificates',
      needs: ['/etc/ssl/certs/ca-certificates.crt'],
      why: 'tools in the sandbox verify the hosts they reach',
    },
  ],
  tests: [
    {
      apt: 'postgresql',
      needs: ['initdb', 'pg_ctl', 'postgres'],
      in: ['/usr/lib/postgresql/*/bin'],
      why: 'storage is tested on a private cluster',
    },
    { apt: 'util-linux', needs: ['setpriv', 'unshare'], why: 'tests run as an ordinary user and without network' },
    { apt: 'iproute2', needs: ['ip'], in: ['/usr/sbin', '/sbin'], why: 'tests without network still need loopback' },
    { apt: 'procps', needs: ['ps'], why: 'tests look for processes left behind' },
    { apt: 'openssl', needs: ['openssl'], why: 'attestations are verified by a program that is not ours' },
    { apt: 'chromium', needs: ['chromium'], why: 'the standalone verifier is tested in a real browser' },
    {
      apt: 'cargo',
      needs: ['cargo', 'rustc'],
      why: 'everyday commands are run in the sandbox: cargo build, run, test',
    },
    { apt: 'python3-venv', needs: ['/usr/share/python-wheels'], why: 'everyday commands: python -m venv, pip install' },
    { apt: 'make', needs: ['make'], why: 'everyday commands: make' },
    { apt: 'patch', needs: ['patch'], why: 'everyday commands: patch' },
    { apt: 'ripgrep', needs: ['rg'], why: 'everyday commands: rg' },
    { apt: 'jq', needs: ['jq'], why: 'everyday commands: jq' },
    { apt: 'sqlite3', needs: ['sqlite3'], why: 'everyday commands: sqlite3' },
  ],
  bench: [
    { apt: 'ripgrep', needs: ['rg'], why: 'sandbox-runtime, which bench/sandbox compares with, searches with it' },
    { apt: 'socat', needs: ['socat'], why: 'sandbox-runtime relays its network through it' },
  ],
  // Not of the system: tools/setup/agents-step.mjs.
  agents: [],
};

/** @type {SystemGroup[]} */
export const ALL_GROUPS = ['product', 'tests', 'bench', 'agents'];
