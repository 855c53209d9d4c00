import type { Sandbox } from '../create-sandbox.ts';
import type { Gate, GateProgram } from '../gate.ts';
import type { Frame } from '../launcher/wire.ts';
import { FROM_HOST, TO_HOST } from './host-messages.ts';

/** A gate that somebody else has opened, from when it is asked for until it is gone. */
export interface ServedGate {
  /** Undefined until it is open, and when it is not any more. */
  readonly gate: Gate | undefined;
  readonly ended: Promise<unknown>;
  hear(frame: Frame): void;
}

export function serveGate(
  sandbox: Sandbox,
  program: GateProgram,
  say: (kind: number, payload?: Uint8Array) => void,
): ServedGate {
  let gate: Gate | undefined;
  const follow = async () => {
    gate = await sandbox.openGate(program);
    gate.onOutput((bytes) => say(FROM_HOST.gateOutput, bytes));
    say(FROM_HOST.gateOpened);
    await gate.ended;
    gate = undefined;
    return true;
  };
  const taken = () => say(FROM_HOST.gateTaken);
  return {
    get gate() {
      return gate;
    },
    ended: follow(),
    hear({ kind, payload }) {
      // One that is gone says so by its end.
      if (kind === TO_HOST.gateInput) gate?.write(payload).then(taken, () => {});
      else if (kind === TO_HOST.closeGate) void gate?.close();
    },
  };
}
