import { Socket } from 'node:net';
import { createSandbox } from '../create-sandbox.ts';
import { encodeFrame, type Frame } from '../launcher/wire.ts';
import { createMessageReader, FROM_HOST, faultOf, type HostOpening, TO_HOST } from './host-messages.ts';
import { decodeValue, encodeValue } from './plain-values.ts';
import { type SandboxServer, serveSandbox } from './serve-sandbox.ts';

/**
 * The process between palyrad and the launcher. It is started as root, starts the launcher, becomes the owner of the
 * workspaces for good, and looks after their files from then on; palyrad itself has another user and could not. It ends with
 * palyrad.
 */
const channel = new Socket({ fd: 3 });
let server: SandboxServer | undefined;
const early: Frame[] = [];
let isAsked = false;

const say = (kind: number, value: unknown) => {
  if (channel.writable) channel.write(encodeFrame(kind, 0, encodeValue(value)));
};

async function open(opening: HostOpening): Promise<void> {
  const logger = { error: (fields: object, message: string) => say(FROM_HOST.log, { fields, message }) };
  try {
    const sandbox = await createSandbox({ ...opening, logger });
    server = serveSandbox(sandbox, channel);
    say(FROM_HOST.opened, sandbox.about);
    for (const frame of early.splice(0)) server.hear(frame);
    await server.over;
  } catch (error) {
    say(FROM_HOST.failed, faultOf(error));
    channel.end();
  }
}

function hear(frame: Frame): void {
  if (frame.kind === TO_HOST.open) {
    // SECURITY: T-40 — it names programs and places, and is said by root. Whoever says it later has only taken palyrad over.
    if (isAsked) throw new Error('It was opened before.');
    isAsked = true;
    void open(decodeValue(frame.payload) as HostOpening);
  } else if (server === undefined) early.push(frame);
  else server.hear(frame);
}

const read = createMessageReader();
channel.on('error', () => channel.destroy());
channel.on('data', (chunk: Buffer) => {
  try {
    for (const frame of read(chunk)) hear(frame);
  } catch {
    // What runs is ended as when palyrad is gone, and looked at.
    channel.destroy();
  }
});
