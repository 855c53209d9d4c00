import { visibleText } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandDefinition, CommandResult } from '../command.ts';
import { DEVICE_IDS } from '../device-output.ts';
import { asOperator, type OperatorContext } from '../identity-home.ts';
import { pickById } from '../pick-id.ts';
import { readInputFile } from '../read-input-file.ts';

/** For what does not renew itself: the two credentials of this home, and a device that was off for weeks. */
export const deviceRenew: CommandDefinition = {
  name: 'device renew',
  group: 'Identity',
  summary: 'Renew certificates that no daemon renews',
  details:
    'Without DEVICE, the two credentials of this home. With DEVICE and --csr, a device that was off for so long that its ' +
    'certificate ran out: it makes the request with its own key (openssl req -new), and gets the certificate and ' +
    'the authorities back. A device keeps its key; one that was revoked is paired anew. Needs the role admin.',
  arguments: [{ name: 'DEVICE', summary: 'Its id, or the last 4 or more characters', isRequired: false }],
  options: [{ flags: '--csr <FILE>', summary: 'The request of the device, PEM or DER; - is stdin' }],
  async run({ arguments: [typed], options }, context) {
    const { csr } = options;
    if (typed === undefined && csr === undefined) return asOperator(context, 'operator', renewLocal);
    if (typed === undefined || typeof csr !== 'string') {
      throw new CliError('cli.invalid_usage', 'A device and its request belong together.', {
        fix: 'Write palyra device renew DEVICE --csr FILE, or palyra device renew for the credentials of this home.',
      });
    }
    const csrDer = derOf(await readInputFile(csr, context));
    return asOperator(context, 'admin', (found) => renewOther(typed, csrDer, found));
  },
};

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
async function renewLocal({ home, registry, identity, operator, warnings }: OperatorContext): Promise<CommandResult> {
  const authority = identity.openAuthority(home.identity);
  const renewed: { readonly name: string; readonly device_id: string; readonly not_after: string }[] = [];
  for (const name of identity.LOCAL_CREDENTIALS) {
    const directory = identity.credentialDirectory(home.identity, name);
    const { device, key } = identity.openCredential(directory);
    const csrDer = await identity.createSigningRequest(key);
    const next = await identity.renewDevice({ device, csrDer, by: operator.principal }, { authority, registry });
    identity.storeCertificate(directory, next);
    renewed.push({ name, device_id: device, not_after: new Date(next.notAfter).toISOString() });
  }
  return {
    json: { renewed },
    render: () => renewed.map((each) => `Renewed ${visibleText(each.name)}, good until ${each.not_after}.\n`).join(''),
    warnings,
  };
}

const SEQUENCE = 0x30;

/** DER as it is; PEM, or base64 alone. */
function derOf(bytes: Uint8Array): Uint8Array {
  if (bytes[0] === SEQUENCE) return bytes;
  const text = Buffer.from(bytes).toString('latin1');
  return Buffer.from(text.replaceAll(/-----[A-Z ]+-----/g, ''), 'base64');
}
