import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { visibleText } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandContext, CommandDefinition, CommandResult } from '../command.ts';
import { joinedDirectory } from '../device-files.ts';
import { DEVICE_IDS } from '../device-output.ts';
import { findHome } from '../find-home.ts';
import { asOperator, loadIdentity, type OperatorContext } from '../identity-home.ts';
import { pickById } from '../pick-id.ts';
import { readInputFile } from '../read-input-file.ts';
import { renewLocal } from '../renew-local.ts';

/** palyrad and the SDK renew in time; this is for what they could not, such as a device that was off for weeks. */
export const deviceRenew: CommandDefinition = {
  name: 'device renew',
  group: 'Identity',
  summary: 'Renew certificates by hand',
  details:
    'palyrad renews the credentials of its home by itself. Without DEVICE, those, due or not. With --daemon, the one that this device got when it joined ' +
    'another home. With DEVICE and --csr, a device that was off for so long that its certificate ran out: it makes the ' +
    'request with its own key (openssl req -new), and gets the certificate and the authorities back; needs the role ' +
    'admin. A device keeps its key; one that was revoked is paired anew.',
  arguments: [{ name: 'DEVICE', summary: 'Its id, or the last 4 or more characters', isRequired: false }],
  options: [
    { flags: '--csr <FILE>', summary: 'The request of the device, PEM or DER; - is stdin' },
    { flags: '--daemon <ADDRESS>', summary: 'HOST:PORT of palyrad, on a device that joined' },
  ],
  async run({ arguments: [typed], options }, context) {
    const { csr, daemon } = options;
    if (typed === undefined && csr === undefined) {
      if (typeof daemon === 'string') return renewJoined(daemon, context);
      refuseJoined(context);
      return asOperator(context, 'operator', renewOwn);
    }
    if (typed === undefined || typeof csr !== 'string') {
      throw new CliError('cli.invalid_usage', 'A device and its request belong together.', {
        fix: 'Write palyra device renew DEVICE --csr FILE, or palyra device renew for the credentials of this home.',
      });
    }
    const csrDer = derOf(await readInputFile(csr, context));
    return asOperator(context, 'admin', (found) => renewOther(typed, csrDer, found));
  },
};

/** A device that joined another home has nothing of its own to renew with: there the daemon does it. */
function refuseJoined(context: CommandContext): void {
  const { home } = findHome(context);
  const [own, joined] = [join(home.identity, 'operator'), joinedDirectory(home.identity)].map(
    (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined,
  );
  if (own || !joined) return;
  throw new CliError('cli.missing_value', 'This device joined another home, whose palyrad renews its certificate.', {
    fix: 'Write palyra device renew --daemon HOST:PORT. If it has run out, pair again: palyra device join --again.',
  });
}

async function renewOther(
  typed: string,
  csrDer: Uint8Array,
  { home, registry, identity, operator, warnings }: OperatorContext,
): Promise<CommandResult> {
  const { id } = pickById(await registry.list(), typed, DEVICE_IDS);
  const authority = identity.openAuthority(home.identity);
  const renewed = await identity.renewDevice({ device: id, csrDer, by: operator.principal }, { authority, registry });
  return {
    json: {
      device_id: id,
      certificate: renewed.certificatePem,
      authorities: renewed.caPem,
      not_after: new Date(renewed.notAfter).toISOString(),
    },
    render: () => `${renewed.certificatePem}${renewed.caPem}`,
    warnings,
  };
}

/** As `palyra init` does for what is due, and here also for what is not. */
async function renewOwn(found: OperatorContext): Promise<CommandResult> {
  const renewed = await renewLocal(found);
  return {
    json: { renewed },
    render: () => renewed.map((each) => `Renewed ${visibleText(each.name)}, good until ${each.not_after}.\n`).join(''),
    warnings: found.warnings,
  };
}

/** Of a home that this device joined, over the connection of its own certificate; no database is here, and none is needed. */
async function renewJoined(typed: string, context: CommandContext): Promise<CommandResult> {
  const { home, environment } = findHome(context);
  const identity = await loadIdentity();
  const { address } = identity.parseJoinTarget(typed);
  const directory = joinedDirectory(home.identity);
  const before = identity.openCredential(directory);
  identity.storeCertificate(directory, await identity.requestRenewal(before, address));
  const { device, notAfter } = identity.openCredential(directory);
  const until = new Date(notAfter).toISOString();
  return {
    json: { renewed: [{ name: 'joined', device_id: device, not_after: until }], warnings: environment.warnings },
    render: () => `Renewed ${device}, good until ${until}.\n`,
    warnings: environment.warnings,
  };
}

const SEQUENCE = 0x30;

/** DER as it is; PEM, or base64 alone. */
function derOf(bytes: Uint8Array): Uint8Array {
  if (bytes[0] === SEQUENCE) return bytes;
  const text = Buffer.from(bytes).toString('latin1');
  return Buffer.from(text.replaceAll(/-----[A-Z ]+-----/g, ''), 'base64');
}
