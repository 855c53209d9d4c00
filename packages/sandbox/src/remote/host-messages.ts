import type { Binding } from '../bind/binding.ts';
import type { SandboxCommand } from '../command.ts';
import type { SandboxOptions } from '../create-sandbox.ts';
import type { NamedWayOut } from '../launcher/encode-request.ts';
import { FRAME_HEADER, type Frame } from '../launcher/wire.ts';
import type { PlanOptions } from '../plan-command.ts';
import type { SandboxProfile } from '../profile.ts';
import type { WayOut } from '../run-job.ts';
import { SANDBOX_ERRORS, SandboxError, type SandboxErrorCode } from '../sandbox-error.ts';

/** What palyrad says to the process that has the sandbox. Each is about one question, by its number. */
export const TO_HOST = {
  /** `HostOpening`, once and first. */
  open: 1,
  /** `Question` */
  plan: 2,
  /** `Question` */
  bind: 3,
  /** `RunQuestion` */
  run: 4,
  warmed: 5,
  /** Bytes, when they were wanted. */
  input: 6,
  inputEnd: 7,
  inputFailed: 8,
  /** The oldest piece of output is done with. */
  taken: 9,
  cancel: 10,
  /** rows, columns */
  resize: 11,
  close: 12,
  /** The name of one, as text. */
  signal: 13,
  /** `GateProgram` */
  openGate: 14,
  /** Bytes for a gate. */
  gateInput: 15,
  closeGate: 16,
  /** The command that was held may begin. */
  letGo: 17,
  /** It never may. */
  notLetGo: 18,
} as const;

export const FROM_HOST = {
  /** `SandboxFacts` */
  opened: 128,
  /** `HostFault`: nothing was opened. */
  failed: 129,
  /** Of the question's own kind, and its last word. */
  answer: 130,
  /** `HostFault` instead of an answer. */
  fault: 136,
  /** `MeasuredFacts`, said before the tool is let go. */
  started: 131,
  stdout: 132,
  stderr: 133,
  /** More input, please. */
  want: 134,
  /** `HostLogLine` */
  log: 135,
  gateOpened: 137,
  gateOutput: 138,
  /** The oldest bytes for a gate are on their way. */
  gateTaken: 139,
  /** Of a command that has a way out: everything that it started is dead. */
  ended: 140,
} as const;

export type HostOpening = Pick<SandboxOptions, 'operator' | 'keptDirectory' | 'launcherProgram' | 'pool' | 'owner'>;

export interface Question extends PlanOptions {
  readonly command: SandboxCommand;
  readonly profile: SandboxProfile;
}

export interface RunQuestion extends Omit<Question, 'wayOut'> {
  readonly hasInput: boolean;
  /** Somebody takes the output as it comes. */
  readonly isHeard: boolean;
  readonly isCancelled: boolean;
  readonly bound?: Binding;
  /** The gate by the number of the question that opened it. */
  readonly wayOut?: NamedWayOut & Pick<WayOut, 'authority'>;
  readonly kept?: 'none';
  /** It is not to begin before it is let go. */
  readonly isHeld?: true;
}

export interface HostFault {
  readonly code: string;
  readonly message: string;
  readonly fix?: string;
}

export interface HostLogLine {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

export function faultOf(error: unknown): HostFault {
  const { message } = error instanceof Error ? error : new Error('It failed.');
  const known = error instanceof SandboxError ? error : undefined;
  return {
    code: known?.code ?? 'sandbox.launcher_failed',
    message,
    ...(known?.fix === undefined ? {} : { fix: known.fix }),
  };
}

export function asError({ code, message, fix }: HostFault): SandboxError {
  const known = Object.hasOwn(SANDBOX_ERRORS, code) ? (code as SandboxErrorCode) : 'sandbox.launcher_failed';
  return new SandboxError(known, message, fix === undefined ? {} : { fix });
}

/** Cuts a stream of bytes into frames; long ones are put together once, when they are whole. */
export function createMessageReader(): (chunk: Buffer) => readonly Frame[] {
  let pending: Buffer[] = [];
  let size = 0;
  let needed = FRAME_HEADER;
  return (chunk) => {
    pending.push(chunk);
    size += chunk.length;
    if (size < needed) return [];
    const all = Buffer.concat(pending);
    const frames: Frame[] = [];
    let at = 0;
    for (needed = lengthAt(all, at); all.length - at >= needed; needed = lengthAt(all, at)) {
      const payload = all.subarray(at + FRAME_HEADER, at + needed);
      frames.push({ kind: all.readUInt8(at + 4), job: all.readUInt32LE(at + 5), payload });
      at += needed;
    }
    pending = [all.subarray(at)];
    size = all.length - at;
    return frames;
  };
}

function lengthAt(bytes: Buffer, at: number): number {
  return bytes.length - at < FRAME_HEADER ? FRAME_HEADER : FRAME_HEADER + bytes.readUInt32LE(at);
}
