import { type CredentialBinding, type FetchRequest, formatTarget, type Target } from '@palyra/egress';
import { describeError, type Logger, reveal, Secret } from '@palyra/primitives';
import {
  type BindCredentials,
  type CallCredentials,
  type CredentialedCall,
  credentialsOf,
} from '../connections/bound-credentials.ts';
import type { RecordSecretUse } from '../connections/record-secret-use.ts';
import type { Redactor } from '../redact/create-redactor.ts';

/** What one call of a guest may use by name, and never has. */
export interface GuestSecrets {
  /**
   * How this one goes on one request for this target. Undefined: it does not, and whoever asked is not told whether it was not
   * granted, is not there, is not bound to that host, or cannot be masked. Does not throw.
   */
  lend(name: string, target: Target): Promise<LentSecret | undefined>;
  /** Whether that host has been sent any, by whatever call: it may say it again, also to those who ask without one. */
  wasSentTo(target: Target): boolean;
}

export interface LentSecret {
  /** Names of headers that nobody else may write. */
  readonly headers: readonly string[];
  readonly credential: NonNullable<FetchRequest['credential']>;
}

/** For one call, whose module was granted these names. */
export type WasmSecrets = (call: CredentialedCall, granted: readonly string[]) => GuestSecrets;

export interface WasmSecretsDeps {
  readonly bind: BindCredentials;
  readonly redactor: Pick<Redactor, 'hold'>;
  readonly record: RecordSecretUse;
  readonly logger: Pick<Logger, 'warn'>;
}

/** SECURITY: T-24, T-28 — a secret goes from here to the proxy, and on to the host that it is bound to; never to a WASM host. */
export function createWasmSecrets(deps: WasmSecretsDeps): WasmSecrets {
  const sentTo = new Set<string>();
  return (call, granted) => {
    let asked: Promise<Partial<CallCredentials>> | undefined;
    return {
      wasSentTo: ({ host }) => sentTo.has(host),
      async lend(name, target) {
        // SECURITY: T-27 — nobody is even asked for what was not granted.
        if (!granted.includes(name)) return undefined;
        try {
          asked ??= credentialsOf(call, deps.bind);
          const secret = await (await asked).secret?.(name);
          const binding = await secret?.credential(target);
          if (secret === undefined || binding === undefined || Object.keys(binding.headers).length === 0)
            return undefined;
          // SECURITY: T-24 — masked before it is used, or not used: nobody could take it out of an answer.
          const why = maskFirst(name, { value: secret.value, sent: sentAs(binding) }, deps);
          if (why !== undefined) throw new NotMasked(why);
          return lent({ target, binding }, async () => {
            await deps.record({ call, secret: name, target: placeOf(target) });
            sentTo.add(target.host);
          });
        } catch (error) {
          // Without the error: it is from where secrets are, and this one may not be masked yet.
          const why = error instanceof NotMasked ? error.message : describeError(error).code;
          deps.logger.warn({ name, host: target.host, why }, 'a secret was not to be had, and is not used');
          return undefined;
        }
      },
    };
  };
}

class NotMasked extends Error {}

/** As they stand in a request. */
function sentAs({ headers }: CredentialBinding): readonly Secret<Uint8Array>[] {
  return Object.values(headers).map((value) => new Secret(Buffer.from(reveal(value), 'latin1')));
}

type Held = Parameters<Redactor['hold']>[1];

interface ToMask {
  readonly value: Held;
  readonly sent: readonly Held[];
}

/** Why not, in a word. What is the secret with a word beside it needs no place of its own; a signature or an encoding does. */
function maskFirst(name: string, { value, sent }: ToMask, { redactor }: WasmSecretsDeps): string | undefined {
  const own = bytesOf(value);
  for (const each of [value, ...sent.filter((header) => !bytesOf(header).includes(own))]) {
    const held = redactor.hold(name, each);
    if (held.kind === 'refused') return held.why;
  }
  return undefined;
}

function bytesOf(value: Held): Buffer {
  return Buffer.from(reveal<string | Uint8Array>(value));
}

interface Lending {
  readonly target: Target;
  readonly binding: CredentialBinding;
}

function lent({ target, binding }: Lending, record: () => Promise<void>): LentSecret {
  return {
    headers: Object.keys(binding.headers),
    async credential(reached) {
      // SECURITY: T-24 — for this target: not for another one that the proxy says it has reached.
      if (placeOf(reached) !== placeOf(target)) throw new Error('It was lent for another host.');
      // SECURITY: T-32 — on record before it leaves palyrad, and when the host is decided and reached.
      await record();
      return binding;
    },
  };
}

function placeOf({ scheme, ...target }: Target): string {
  return `${scheme ?? 'tcp'}://${formatTarget(target)}`;
}
