import type { Duplex } from 'node:stream';
import type { Logger } from '@palyra/primitives';
import type { Binding } from '../bind/binding.ts';
import type { Sandbox, SandboxFacts } from '../create-sandbox.ts';
import type { Gate } from '../gate.ts';
import { gateClosed, launcherGone } from '../job-outcome.ts';
import { encodeFrame, type Frame } from '../launcher/wire.ts';
import type { Planning } from '../plan-command.ts';
import type { Refusal } from '../run-result.ts';
import { SandboxError } from '../sandbox-error.ts';
import { followGate } from './follow-gate.ts';
import { followRun } from './follow-run.ts';
import {
  asError,
  createMessageReader,
  FROM_HOST,
  type HostFault,
  type HostLogLine,
  type HostOpening,
  type Question,
  TO_HOST,
} from './host-messages.ts';
import { decodeValue, encodeValue } from './plain-values.ts';

export interface ReachedSandbox {
  /** As if it were in this process. When the one that has it is gone, everything is refused. */
  readonly sandbox: Sandbox;
  /** Resolves when that process is gone, also after `close`. */
  readonly lost: Promise<SandboxError>;
}

/** One question, from when it is asked until its answer. */
export interface Asked {
  hear(frame: Frame): void;
  lose(fault: SandboxError): void;
}

export interface ReachOptions {
  readonly opening: HostOpening;
  readonly logger: Pick<Logger, 'error'>;
}

/** The sandbox behind a channel. Throws what `createSandbox` throws there, and `sandbox.launcher_failed`. */
export async function reachSandbox(channel: Duplex, { opening, logger }: ReachOptions): Promise<ReachedSandbox> {
  const asked = new Map<number, Asked>();
  const lost = Promise.withResolvers<SandboxError>();
  const opened = Promise.withResolvers<SandboxFacts>();
  let gone: SandboxError | undefined;
  let lastId = 0;

  const lose = () => {
    gone ??= hostGone();
    lost.resolve(gone);
    opened.reject(gone);
    const unanswered = [...asked.values()];
    asked.clear();
    for (const each of unanswered) each.lose(gone);
  };
  const hear = (frame: Frame) => {
    const { kind, job: id, payload } = frame;
    if (kind === FROM_HOST.opened) opened.resolve(decodeValue(payload) as SandboxFacts);
    else if (kind === FROM_HOST.failed) opened.reject(asError(decodeValue(payload) as HostFault));
    else if (kind === FROM_HOST.log) tell(decodeValue(payload) as HostLogLine);
    else asked.get(id)?.hear(frame);
    if (kind === FROM_HOST.answer || kind === FROM_HOST.fault) asked.delete(id);
  };
  const tell = ({ fields, message }: HostLogLine) => logger.error(fields, message);
  const say = (kind: number, id: number, payload?: Uint8Array) => {
    if (gone === undefined) channel.write(encodeFrame(kind, id, payload));
  };
  /** Throws when there is nobody to ask. */
  const open = (each: Asked) => {
    if (gone !== undefined) throw gone;
    lastId = (lastId + 1) % 0xffff_ffff;
    const id = lastId;
    asked.set(id, each);
    return Object.assign((kind: number, payload?: Uint8Array) => say(kind, id, payload), { id });
  };
  const gates = new WeakMap<Gate, number>();
  const ask = (kind: number, question?: Question) =>
    new Promise<unknown>((resolve, reject) => {
      const answered = ({ kind: how, payload }: Frame) => {
        if (how === FROM_HOST.answer) resolve(decodeValue(payload));
        else reject(asError(decodeValue(payload) as HostFault));
      };
      open({ hear: answered, lose: reject })(kind, question && encodeValue(question));
    });

  const read = createMessageReader();
  channel.on('data', (chunk: Buffer) => {
    try {
      read(chunk).forEach(hear);
    } catch (error) {
      // SECURITY: T-40 — it has the owner's uid. One that talks nonsense was taken over, or is broken: it is gone for us.
      logger.error({ error }, 'The process that starts tools is not understood, and is left.');
      channel.destroy();
    }
  });
  channel.on('error', lose);
  channel.once('end', () => {
    channel.end();
    lose();
  });
  channel.once('close', lose);
  say(TO_HOST.open, 0, encodeValue(opening));
  const about = await opened.promise;
  return {
    lost: lost.promise,
    sandbox: {
      about,
      async openGate(program) {
        const gate = await followGate(program, open);
        gates.set(gate, gate.number);
        return gate;
      },
      plan: (command, profile, options) =>
        ask(TO_HOST.plan, { command, profile, ...options }).catch(refusal) as Promise<Planning>,
      bind: (command, profile, options) =>
        ask(TO_HOST.bind, { command, profile, ...options }).catch(refusal) as Promise<Binding | Refusal>,
      async run(command, profile, options = {}) {
        // Nothing of it was asked yet, so nothing of it ran.
        if (gone !== undefined) return launcherGone(gone);
        const { wayOut } = options;
        if (wayOut === undefined) return followRun({ command, profile }, options, open);
        const gate = gates.get(wayOut.gate);
        if (gate === undefined) return gateClosed();
        return followRun({ command, profile, wayOut: { ...wayOut, gate } }, options, open);
      },
      warmed: () => ask(TO_HOST.warmed).then(Number),
      async close() {
        say(TO_HOST.close, 0);
        await lost.promise;
      },
    },
  };
}

/** SECURITY: T-20 — without an answer nothing is planned, and nothing runs. */
function refusal(error: unknown): Refusal {
  if (!(error instanceof SandboxError)) throw error;
  const { code, message, fix } = error;
  return { kind: 'refused', code, message, fix };
}

function hostGone(): SandboxError {
  return new SandboxError('sandbox.launcher_failed', 'The process that starts tools ended, and what it ran with it.', {
    fix: 'Start palyrad again; its log says why.',
  });
}
