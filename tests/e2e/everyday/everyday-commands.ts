import type { Project } from './project-files.ts';

/** What coding agents run all day. Those of one project run in this order, each on what the one before has left. */
export interface EverydayCommand {
  readonly project: Project;
  readonly name: string;
  readonly run: string;
  /** What stdout is, without space around it; a pattern where it tells of versions, times or places. */
  readonly prints: string | RegExp;
  readonly terminal?: true;
}

type Line = readonly [name: string, run: string, prints: string | RegExp];

const NODE: readonly Line[] = [
  [
    'node of the version manager',
    'node -p "process.version + process.execPath"',
    /^v\d+.*\/\.nvm\/versions\/node\/v\d+/,
  ],
  ['npm init', 'mkdir fresh && cd fresh && npm init -y > /dev/null && jq -r .name package.json', 'fresh'],
  ['npm pack', 'npm pack --silent ./shout', 'shout-1.0.0.tgz'],
  [
    'npm install of a tarball',
    "npm install --silent ./shout-1.0.0.tgz && node -p \"require('shout')('installed')\"",
    'INSTALLED',
  ],
  ['npx of what is installed', 'npx shout hello', 'HELLO'],
  ['npm ci', 'rm -rf node_modules && npm ci --silent && ls node_modules', 'shout'],
  [
    'npm install from a registry',
    'cd user && node registry.mjs shout npm install --silent shout && node_modules/.bin/shout fetched && ls -d ~/.npm/_cacache',
    'FETCHED\n/home/palyra/.npm/_cacache',
  ],
  [
    'npx from a registry',
    'cd user && rm -rf node_modules package-lock.json && node registry.mjs shout npx --yes shout@1.0.0 "run at once"',
    'RUN AT ONCE',
  ],
  [
    'npm install --global',
    'export npm_config_prefix=~/.npm-global && npm install --silent --global ./shout-1.0.0.tgz && ~/.npm-global/bin/shout global',
    'GLOBAL',
  ],
  ['npm run', 'npm run --silent greet', 'hello from greet'],
  ['npm test', 'npm test --silent', /pass 1\b/],
  ['node runs TypeScript', 'node typed.ts', 'answer 42'],
  [
    'node server and client',
    "node -e \"const s=require('http').createServer((q,r)=>r.end('node answers')).listen(0,'localhost',async()=>{console.log(await (await fetch('http://localhost:'+s.address().port)).text());s.close();s.closeAllConnections()})\"",
    'node answers',
  ],
  [
    'node child processes',
    "node -p \"require('child_process').execSync('echo from a child').toString().trim()\"",
    'from a child',
  ],
  ['node worker threads', "node -e \"new (require('worker_threads').Worker)('console.log(6*7)',{eval:true})\"", '42'],
  ['node cluster', 'node cluster.mjs', 'a worker answers'],
  ['a file watcher', 'node watcher.mjs', 'saw change'],
];

const BUNDLED: readonly Line[] = [
  ['vitest', 'npx vitest run --no-color', /Tests\s+1 passed/],
  ['npm test with vitest', 'NO_COLOR=1 npm test', /Tests\s+1 passed/],
  ['tsc', 'npx tsc && cat out/add.js', 'export const add = (a, b) => a + b;'],
  ['vite build', 'npx vite build --logLevel error && grep -rlF "document.title=" dist/assets | wc -l', '1'],
  ['vite dev server', 'node dev.mjs', 'served as JavaScript'],
];

const PYTHON: readonly Line[] = [
  ['python of the version manager', 'command -v python3; python3 -c "print(6 * 7)"', /\/\.pyenv\/shims\/python3\n42$/],
  [
    'python -m venv',
    'python3 -m venv .venv && .venv/bin/python -c "import sys; print(sys.prefix != sys.base_prefix)"',
    'True',
  ],
  [
    'pip install of a wheel',
    '. .venv/bin/activate && python make_wheel.py && pip install -q --no-index --disable-pip-version-check ./*.whl && greeting',
    'greetings from a wheel',
  ],
  ['pip list', '.venv/bin/pip list --disable-pip-version-check', /greeting +1\.0/],
  ['python -m unittest', 'python3 -m unittest 2>&1', /Ran 1 test[\s\S]*OK$/],
  ['python server and client', 'python3 serve.py', 'python answers'],
  ['multiprocessing', 'python3 pool.py', '[1, 4, 9]'],
  ['asyncio subprocess', 'python3 subprocesses.py', 'from a child 0'],
  [
    'temporary files',
    'python3 -c "import tempfile; f = tempfile.NamedTemporaryFile(); print(f.name.startswith(\'/tmp/\'))"',
    'True',
  ],
];

const RUST: readonly Line[] = [
  ['cargo of the version manager', 'command -v cargo && cargo --version', /\/\.cargo\/bin\/cargo\ncargo \d/],
  ['cargo build', 'cargo build -q --offline && ls target/debug/everyday', 'target/debug/everyday'],
  ['cargo run', 'cargo run -q --offline', 'rust adds 5'],
  ['cargo test', 'cargo test -q --offline', /1 passed/],
];

const IDENTITY = 'git config --global user.email dev@localhost && git config --global user.name Dev';

const GIT: readonly Line[] = [
  ['git init, add, commit', 'git init -q -b main . && git add . && git commit -qm one && git log --format=%s', 'one'],
  [
    'git status, diff',
    'echo second >> notes.txt && git status --short && git diff --stat | tail -n 1',
    'M notes.txt\n 1 file changed, 1 insertion(+)',
  ],
  ['git stash', 'git stash -q && cat notes.txt && git stash pop -q && tail -n 1 notes.txt', 'first\nsecond'],
  [
    'git commit --amend',
    'git commit -qam two && git commit -q --amend -m "two amended" && git log -1 --format=%s',
    'two amended',
  ],
  [
    'git rebase',
    'git checkout -q -b topic HEAD~1 && echo new > topic.txt && git add . && git commit -qm topic && git rebase -q main && git log --format=%s',
    'topic\ntwo amended\none',
  ],
  [
    'git rebase -i',
    'GIT_SEQUENCE_EDITOR="sed -i \'2s/^pick/fixup/\'" git rebase -q -i HEAD~2 && git log --format=%s',
    'two amended\none',
  ],
  [
    'git merge',
    'git checkout -q main && git merge -q --no-ff -m merged -X theirs topic && git log -1 --format=%s && ls',
    'merged\nnotes.txt\ntopic.txt',
  ],
  [
    'git cherry-pick, revert',
    'git checkout -q -b picks && echo p > p.txt && git add . && git commit -qm picked && git checkout -q main && git cherry-pick picks > /dev/null && git revert --no-edit HEAD > /dev/null && git log -2 --format=%s',
    'Revert "picked"\npicked',
  ],
  [
    'git worktree',
    'git worktree add -q ./tree topic && git -C tree log -1 --format=%s && git worktree remove tree && git worktree list | wc -l',
    'two amended\n1',
  ],
  ['git tag, describe', 'git tag -a v1 -m "version 1" && git describe', 'v1'],
  [
    'git clone, push, fetch',
    'git clone -q --bare . hub.git && git clone -q hub.git copy && cd copy && echo c > c.txt && git add . && git commit -qm "from the copy" && git push -q origin HEAD && cd .. && git fetch -q ./hub.git main && git log -1 --format=%s FETCH_HEAD',
    'from the copy',
  ],
  [
    'git remote, tracking, config',
    'git remote add hub ./hub.git && git fetch -q hub && git branch -q -u hub/main && git config user.name Dev && git config pull.rebase true && git rev-parse --abbrev-ref "@{u}" && rm -rf copy',
    'hub/main',
  ],
  [
    'git submodule',
    'git -c protocol.file.allow=always submodule --quiet add "$PWD/hub.git" sub && git commit -qm sub && git -C sub checkout -q -b own && git submodule status | wc -l',
    '1',
  ],
  [
    'git apply, clean, blame, gc',
    'git diff HEAD~1 > change.patch; git blame -s notes.txt | wc -l; git clean -fdxq && git gc -q && git fsck --no-progress --no-dangling && git status --short | wc -l',
    '2\n0',
  ],
];

const SHELL: readonly Line[] = [
  ['gcc', 'gcc -Wall -O1 -o direct greet.c && ./direct', 'compiled'],
  ['make', 'make -j2 --silent run', 'compiled'],
  ['ripgrep', 'rg --no-heading -n needle', 'deep/in/here.txt:1:a needle in hay'],
  ['jq', "jq -r '.[] | select(.born > 1900).name' people.json", 'Alan'],
  ['sed, awk, sort', "printf 'b 2\\na 1\\n' | sort | awk '{ print $2 }' | sed 's/$/!/'", '1!\n2!'],
  ['find, xargs', "find . -name '*.txt' -print0 | xargs -0 -P 2 grep -l needle", './deep/in/here.txt'],
  [
    'tar, gzip',
    'tar czf deep.tgz deep && mkdir -p unpacked && tar xzf deep.tgz -C unpacked && cat unpacked/deep/in/here.txt',
    'a needle in hay',
  ],
  [
    'diff, patch',
    "sed 's/needle/pin/' deep/in/here.txt > new.txt; diff -u deep/in/here.txt new.txt > p.diff; patch -s deep/in/here.txt p.diff && cat deep/in/here.txt",
    'a pin in hay',
  ],
  ['sqlite', 'sqlite3 people.db "create table p(n); insert into p values(\'Ada\'); select n from p;"', 'Ada'],
  ['curl to a server of its own', 'bash serve.sh | jq length', '2'],
  ['background jobs', '(echo early > a.out) & (echo late > b.out) & wait && cat a.out b.out', 'early\nlate'],
  [
    'mktemp and the home',
    'f=$(mktemp) && echo kept > "$f" && mkdir -p ~/.cache/tool && cp "$f" ~/.cache/tool/x && cat ~/.cache/tool/x',
    'kept',
  ],
  ['a pseudo terminal', 'script -qec "test -t 1 && echo is a terminal" /dev/null', 'is a terminal'],
  ['here documents and pipes', 'cat <<< "piped" | tee >(cat > /dev/null) | tr a-z A-Z', 'PIPED'],
  ['who and where', 'whoami; hostname; id -u; getent hosts localhost | wc -l', 'palyra\npalyra\n1000\n1'],
  ['ps, df, date', 'ps -o comm= -p $$ && df -P . | wc -l && date +%Y', /^bash\n2\n20\d\d$/],
  ['openssl', 'openssl rand -hex 4 | wc -c', '9'],
  ['timeout, kill', 'timeout 0.1 sleep 9; echo $?; sleep 9 & kill $!; wait $!; echo $?', '124\n143'],
];

const of = (project: Project, lines: readonly Line[]): readonly EverydayCommand[] =>
  lines.map(([name, run, prints]) => ({ project, name, run, prints }));

export const EVERYDAY: readonly EverydayCommand[] = [
  ...of('rust', RUST),
  ...of('bundled', BUNDLED),
  ...of('node', NODE),
  ...of('python', PYTHON),
  // The home is new in every sandbox: whoever commits says who it is each time.
  ...of('git', GIT).map((command) => ({ ...command, run: `${IDENTITY} && ${command.run}` })),
  ...of('shell', SHELL),
  {
    project: 'shell',
    name: 'a terminal',
    run: 'tty && stty size',
    prints: /^\/dev\/(?:pts\/\d+|console)\r?\n24 80$/,
    terminal: true,
  },
];
