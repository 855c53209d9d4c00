/**
 * T-40, T-19: a Tier B tool that may make no Unix socket makes a pair of datagram sockets instead, and sends from one half to a socket
 * of the operator's that has a name. Landlock does not know connecting, nor sending.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { as } from './sandbox-daemon.ts';
import { describeOrdinary, python, tierB } from './sandboxed.ts';

/** An operator's program: says who spoke to it, until somebody says `end`. */
const LISTEN = `
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('ready', flush=True)
while (said := s.recv(100)) != b'end': print(said.decode(), flush=True)
os.unlink(sys.argv[1])
`;

/** The name is no argument: that would be refused for where it leads. */
const send = (name: string, text: string) => `
import errno, socket
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
  try: print('sent', socket.socketpair(socket.AF_UNIX, kind)[0].sendto(b'${text}', ${JSON.stringify(name)}))
  except OSError as error: print(errno.errorcode[error.errno])
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET): socket.socketpair(socket.AF_UNIX, kind)
`;

describeOrdinary((place) => {
  const start = (...argv: readonly string[]) => {
    const [file = '', ...args] = as(place(), argv);
    return spawn(file, args, { env: { PATH: '/usr/bin:/bin' }, stdio: ['ignore', 'pipe', 'inherit'] });
  };

  test('none of it reaches the operator’s socket; from outside of a sandbox it does', async () => {
    const name = join(place().home, 'notify');
    const listener = start('python3', '-c', LISTEN, name);
    const gone = once(listener, 'close');
    const heard: string[] = [];
    const lines = createInterface({ input: listener.stdout }).on('line', (line) => heard.push(line));
    await once(lines, 'line');
    const { stdout, stderr } = await place().daemon.run(python(send(name, 'inside')), tierB(place()));
    const allowed = await place().daemon.run(python(send(name, 'allowed')), tierB(place(), { unixSockets: 'allowed' }));
    for (const text of ['outside', 'end']) await once(start('python3', '-c', send(name, text)), 'close');
    await gone;

    expect(heard).toEqual(['ready', 'allowed', 'allowed', 'outside', 'outside']);
    expect([stdout, stderr]).toEqual(['EPERM\nEPERM\n', '']);
    expect(allowed.stdout).toBe('sent 7\nsent 7\n');
  });
});
