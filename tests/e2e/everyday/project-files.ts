import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Each is a project of its own: commands of one follow upon one another, those of different ones do not. */
export const PROJECTS = ['node', 'bundled', 'python', 'rust', 'git', 'shell', 'refused'] as const;
export type Project = (typeof PROJECTS)[number];

const CHECKOUT = fileURLToPath(new URL('../../../', import.meta.url));

/** Lays all of them out below `directory` and gives them to the user. */
export function makeProjects(directory: string, ownerUid: number): Readonly<Record<Project, string>> {
  for (const project of PROJECTS) {
    mkdirSync(join(directory, project), { recursive: true });
    for (const [path, text] of Object.entries(FILES[project])) {
      const file = join(directory, project, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
  }
  installModules(join(directory, 'bundled'), ['vitest', 'vite', 'typescript', 'tsx']);
  if (process.getuid?.() === 0) execFileSync('chown', ['-R', `${ownerUid}:${ownerUid}`, directory]);
  return Object.fromEntries(PROJECTS.map((name) => [name, join(directory, name)])) as Record<Project, string>;
}

const manifest = (fields: Readonly<Record<string, unknown>>) =>
  JSON.stringify({ version: '1.0.0', ...fields }, null, 2);

const SHOUT = manifest({ name: 'shout', bin: { shout: 'shout.js' }, main: 'index.js' });

const FILES: Readonly<Record<Project, Readonly<Record<string, string>>>> = {
  node: {
    'package.json': manifest({
      name: 'everyday',
      scripts: { greet: 'echo "hello from $npm_lifecycle_event"', test: 'node --test' },
    }),
    'adds.test.mjs':
      "import assert from 'node:assert';\nimport { test } from 'node:test';\ntest('adds', () => assert.equal(1 + 1, 2));\n",
    'typed.ts': "const answer: number = 6 * 7;\nconsole.log('answer', answer);\n",
    'shout/package.json': SHOUT,
    'shout/index.js': 'module.exports = (text) => text.toUpperCase();\n',
    'shout/shout.js': "#!/usr/bin/env node\nconsole.log(require('./index.js')(process.argv[2]));\n",
    // Stands for a registry with one package in it; the client is its child.
    'user/package.json': manifest({ name: 'user' }),
    'user/registry.mjs': `
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
const [, , name, ...client] = process.argv;
const bytes = readFileSync('../' + name + '-1.0.0.tgz');
const integrity = 'sha512-' + createHash('sha512').update(bytes).digest('base64');
const server = createServer((request, response) => {
  if (request.url.endsWith('.tgz')) return response.end(bytes);
  // Whether there are known weaknesses in it: there are none.
  if (request.method === 'POST') return response.end('{}');
  const tarball = 'http://127.0.0.1:' + server.address().port + '/' + name + '.tgz';
  const version = { ...JSON.parse(readFileSync('../' + name + '/package.json', 'utf8')), dist: { tarball, integrity } };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ name, 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }));
});
server.listen(0, '127.0.0.1', () => {
  const env = { ...process.env, npm_config_registry: 'http://127.0.0.1:' + server.address().port };
  spawn(client[0], client.slice(1), { stdio: 'inherit', env }).on('close', (code) => process.exit(code ?? 1));
});
`,
    'watcher.mjs': `
import { appendFileSync, watch, writeFileSync } from 'node:fs';
writeFileSync('watched.txt', '');
const watcher = watch('watched.txt', (event) => {
  console.log('saw', event);
  watcher.close();
});
appendFileSync('watched.txt', 'more');
`,
    'cluster.mjs': `
import cluster from 'node:cluster';
import { createServer } from 'node:http';
if (cluster.isPrimary) {
  cluster.fork().on('message', async ({ port }) => {
    console.log(await (await fetch('http://localhost:' + port)).text());
    process.exit(0);
  });
} else {
  const server = createServer((request, response) => response.end('a worker answers'));
  server.listen(0, 'localhost', () => process.send({ port: server.address().port }));
}
`,
  },
  bundled: {
    'typed.ts': "const answer: number = 6 * 7;\nconsole.log('answer', answer);\n",
    'package.json': manifest({
      name: 'bundled',
      type: 'module',
      scripts: { test: 'vitest run', build: 'vite build' },
    }),
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        strict: true,
        module: 'esnext',
        moduleResolution: 'bundler',
        lib: ['esnext', 'dom'],
        rootDir: 'src',
        outDir: 'out',
        types: [],
      },
      files: ['src/main.ts'],
    }),
    'index.html': '<!doctype html><title>everyday</title><script type="module" src="/src/main.ts"></script>\n',
    'src/add.ts': 'export const add = (a: number, b: number): number => a + b;\n',
    'src/main.ts': "import { add } from './add';\ndocument.title = 'everyday ' + add(2, 3);\n",
    'src/add.test.ts':
      "import { expect, test } from 'vitest';\nimport { add } from './add';\ntest('adds', () => expect(add(2, 3)).toBe(5));\n",
    // Started, asked once and closed, as an agent does to see whether the page comes up.
    'dev.mjs': `
import { createServer } from 'vite';
const server = await createServer({ server: { port: 0 }, logLevel: 'error' });
await server.listen();
const text = await (await fetch(server.resolvedUrls.local[0] + 'src/add.ts')).text();
console.log(text.includes('export const add = (a, b) => a + b') ? 'served as JavaScript' : text);
await server.close();
`,
  },
  python: {
    'test_adds.py':
      'import unittest\n\nclass Adds(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(1 + 1, 2)\n',
    // A wheel is a zip with three files of metadata; to build one with tools would take a network.
    'make_wheel.py': `
import zipfile
info = 'greeting-1.0.dist-info/'
with zipfile.ZipFile('greeting-1.0-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('greeting.py', 'def main(): print("greetings from a wheel")\\n')
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: greeting\\nVersion: 1.0\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: us\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'entry_points.txt', '[console_scripts]\\ngreeting = greeting:main\\n')
    wheel.writestr(info + 'RECORD', '')
`,
    'serve.py': `
import http.server, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'python answers')
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(('localhost', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f'http://localhost:{server.server_port}').read().decode())
`,
    'pool.py': `
import multiprocessing
def square(number): return number * number
if __name__ == '__main__':
    multiprocessing.set_start_method('spawn')
    queue = multiprocessing.Queue()
    with multiprocessing.Pool(2) as pool: queue.put(pool.map(square, [1, 2, 3]))
    print(queue.get())
`,
    'subprocesses.py': `
import asyncio
async def main():
    process = await asyncio.create_subprocess_exec('echo', 'from a child', stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    print(out.decode().strip(), process.returncode)
asyncio.run(main())
`,
  },
  rust: {
    'Cargo.toml': '[package]\nname = "everyday"\nversion = "0.1.0"\nedition = "2021"\n',
    'src/main.rs':
      'fn add(a: i32, b: i32) -> i32 { a + b }\nfn main() { println!("rust adds {}", add(2, 3)); }\n#[test]\nfn adds() { assert_eq!(add(1, 1), 2); }\n',
  },
  git: { 'notes.txt': 'first\n', '.gitignore': 'hub.git\ncopy\nchange.patch\n' },
  refused: { 'own/package.json': manifest({ name: 'own' }) },
  shell: {
    'greet.c': '#include <stdio.h>\nint main(void) { puts("compiled"); return 0; }\n',
    Makefile: 'greet: greet.c\n\tcc -O1 -o $@ $<\nrun: greet\n\t./greet\n.PHONY: run\n',
    'people.json': '[{"name":"Ada","born":1815},{"name":"Alan","born":1912}]\n',
    'deep/in/here.txt': 'a needle in hay\n',
    'serve.sh':
      'python3 -u -m http.server --bind 127.0.0.1 0 > server.log 2>&1 &\nuntil grep -q "port [0-9]" server.log; do :; done\ncurl -sS "http://127.0.0.1:$(grep -o "port [0-9]*" server.log | cut -d" " -f2)/people.json"\nkill $!\n',
  },
};

/** Copies: a project's own modules are the agent's to change. */
function installModules(project: string, names: readonly string[]): void {
  const modules = join(project, 'node_modules');
  for (const name of withDependencies(names)) {
    cpSync(join(CHECKOUT, 'node_modules', name), join(modules, name), {
      recursive: true,
      filter: (source) => !source.endsWith('.map'),
    });
  }
  mkdirSync(join(modules, '.bin'));
  for (const name of names) {
    const { bin } = readManifest(name);
    for (const [command, path] of Object.entries(typeof bin === 'string' ? { [name]: bin } : (bin ?? {}))) {
      symlinkSync(join('..', name, path), join(modules, '.bin', command));
    }
  }
}

interface Manifest {
  readonly bin?: string | Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

function withDependencies(names: readonly string[], found: Set<string> = new Set()): ReadonlySet<string> {
  for (const name of names) {
    if (found.has(name) || !isInstalled(name)) continue;
    found.add(name);
    const { dependencies, optionalDependencies } = readManifest(name);
    withDependencies(Object.keys({ ...dependencies, ...optionalDependencies }), found);
  }
  return found;
}

function readManifest(name: string): Manifest {
  return JSON.parse(readFileSync(join(CHECKOUT, 'node_modules', name, 'package.json'), 'utf8')) as Manifest;
}

function isInstalled(name: string): boolean {
  return existsSync(join(CHECKOUT, 'node_modules', name, 'package.json'));
}
