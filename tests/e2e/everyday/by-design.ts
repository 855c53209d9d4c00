import type { HintKind, SandboxProfile } from '@palyra/sandbox';
import type { Project } from './project-files.ts';

/** What does not work in the sandbox because it must not. */
export interface RefusedByDesign {
  readonly name: string;
  /** One of its own unless told. */
  readonly project?: Project;
  readonly run: string;
  /** In stdout or stderr: what its user reads. */
  readonly sees: RegExp;
  /** Which fix the product names then. */
  readonly hint: HintKind;
  /** What to ask for, where it can be asked for: with it the command passes. */
  readonly asks?: Partial<Pick<SandboxProfile, 'unixSockets'>>;
}

const TRACE = `
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(0, 0, 0, 0) < 0: sys.exit('ptrace: ' + os.strerror(ctypes.get_errno()))
`;

const quoted = (code: string) => `'${code.replaceAll("'", `'\\''`)}'`;

/** Addresses are of the block for documentation, names of the top-level domain that never exists. */
export const BY_DESIGN: readonly RefusedByDesign[] = [
  { name: 'a name outside', run: 'curl -sS http://host.invalid/', sees: /Could not resolve host/, hint: 'network' },
  { name: 'an address outside', run: 'curl -sS http://192.0.2.1/', sees: /Failed to connect/, hint: 'network' },
  { name: 'fetch', run: 'node -e "fetch(\'http://host.invalid\')"', sees: /EAI_AGAIN|ENOTFOUND/, hint: 'network' },
  {
    name: 'npm install from outside',
    run: 'npm install --no-audit --fetch-retries 0 --registry http://host.invalid left',
    sees: /EAI_AGAIN|ENOTFOUND/,
    hint: 'network',
  },
  {
    name: 'pip install from outside',
    project: 'python',
    run: '.venv/bin/pip install --retries 0 --index-url https://192.0.2.1/ left',
    sees: /No matching distribution/,
    hint: 'network',
  },
  {
    name: 'git push to a host',
    run: 'git init -q pushed && cd pushed && git push https://host.invalid/x.git :gone',
    sees: /Could not resolve host/,
    hint: 'network',
  },
  {
    name: 'git commit by nobody',
    run: 'git init -q nobody && cd nobody && git commit -q --allow-empty -m x',
    sees: /tell me who you are/,
    hint: 'git_identity',
  },
  { name: 'writing to the system', run: 'touch /usr/local/bin/x', sees: /Read-only file system/, hint: 'read_only' },
  {
    name: 'npm install --global beside the operator’s',
    run: 'npm install --global ./own',
    sees: /EROFS/,
    hint: 'read_only',
  },
  { name: 'apt-get install', run: 'apt-get install -y hello', sees: /\/var\/lib\/dpkg/, hint: 'system_packages' },
  { name: 'keys of the operator', run: 'cat ~/.ssh/id_ed25519', sees: /No such file/, hint: 'hidden_home' },
  {
    name: 'tsx',
    project: 'bundled',
    run: 'npx tsx typed.ts',
    sees: /EAFNOSUPPORT/,
    hint: 'unix_sockets',
    asks: { unixSockets: 'allowed' },
  },
  {
    name: 'multiprocessing.Manager',
    run: 'python3 -c "import multiprocessing as m; m.Manager().list([1])"',
    sees: /Address family not supported/,
    hint: 'unix_sockets',
    asks: { unixSockets: 'allowed' },
  },
  { name: 'docker', run: 'docker ps', sees: /not found|Cannot connect to the Docker daemon/, hint: 'containers' },
  { name: 'sudo', run: 'sudo -n true', sees: /not found|no new privileges|uid is not 0/i, hint: 'privileges' },
  { name: 'mount', run: 'mount -t tmpfs none /tmp', sees: /must be superuser/, hint: 'privileges' },
  { name: 'setuid', run: 'cp /bin/true t && chmod u+s t', sees: /Operation not permitted/, hint: 'set_id' },
  { name: 'chown', run: 'touch z && chown root z', sees: /changing ownership/, hint: 'ownership' },
  { name: 'a debugger', run: `python3 -c ${quoted(TRACE)}`, sees: /Operation not permitted/, hint: 'tracing' },
  { name: 'a sandbox in the sandbox', run: 'unshare -r true', sees: /unshare failed/, hint: 'nested_sandbox' },
  {
    name: 'a port of root’s',
    run: "node -e \"require('node:net').createServer().listen(80, '127.0.0.1')\"",
    sees: /EACCES/,
    hint: 'low_port',
  },
  {
    name: 'a program that is not there',
    run: 'no-such-tool --version',
    sees: /command not found/,
    hint: 'program_missing',
  },
];
