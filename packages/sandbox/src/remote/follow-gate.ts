import type { Gate, GateProgram } from '../gate.ts';
import { gateClosedError } from '../gate.ts';
import { asError, FROM_HOST, type HostFault, TO_HOST } from './host-messages.ts';
import { decodeValue, encodeValue } from './plain-values.ts';
import type { Asked } from './reach-sandbox.ts';

type Say = ((kind: number, payload?: Uint8Array) => void) & { readonly id: number };

export interface FollowedGate extends Gate {
  /** Of the question that opened it. */
  readonly number: number;
}

/** A gate that another process has. Throws what `openGate` throws there, and `sandbox.launcher_failed`. */
export function followGate(program: GateProgram, open: (each: Asked) => Say): Promise<FollowedGate> {
  return new Promise((resolve, reject) => {
    const ended = Promise.withResolvers<void>();
    const output = createGateOutput();
    const untaken: { resolve(): void; reject(error: Error): void }[] = [];
    let isOver = false;
    const over = () => {
      isOver = true;
      for (const each of untaken.splice(0)) each.reject(gateClosedError());
      ended.resolve();
    };
    const say = open({
      hear({ kind, payload }) {
        if (kind === FROM_HOST.gateOpened) resolve(gate);
        else if (kind === FROM_HOST.gateOutput) output.take(payload);
        else if (kind === FROM_HOST.gateTaken) untaken.shift()?.resolve();
        else if (kind === FROM_HOST.answer) over();
        else {
          reject(asError(decodeValue(payload) as HostFault));
          over();
        }
      },
      lose(fault) {
        reject(fault);
        over();
      },
    });
    const gate: FollowedGate = {
      number: say.id,
      ended: ended.promise,
      onOutput: output.listen,
      write(bytes) {
        if (isOver) return Promise.reject(gateClosedError());
        say(TO_HOST.gateInput, bytes);
        return new Promise((taken, failed) => untaken.push({ resolve: taken, reject: failed }));
      },
      close() {
        say(TO_HOST.closeGate);
        return ended.promise;
      },
    };
    say(TO_HOST.openGate, encodeValue(program));
  });
}

interface GateOutput {
  take(bytes: Buffer): void;
  listen(listener: (bytes: Uint8Array) => void): void;
}

/** Whoever listens first hears what was said before. */
function createGateOutput(): GateOutput {
  const listeners: ((bytes: Uint8Array) => void)[] = [];
  const unheard: Buffer[] = [];
  const tell = (bytes: Buffer) => {
    for (const listener of listeners) listener(bytes);
  };
  return {
    take(bytes) {
      if (listeners.length === 0) unheard.push(Buffer.from(bytes));
      else tell(bytes);
    },
    listen(listener) {
      listeners.push(listener);
      for (const bytes of unheard.splice(0)) tell(bytes);
    },
  };
}
