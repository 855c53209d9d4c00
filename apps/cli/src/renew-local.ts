import type { OperatorContext } from './identity-home.ts';

export interface RenewedLocal {
  readonly name: string;
  readonly device_id: string;
  readonly not_after: string;
}

/** The two credentials of this home, due or not; with their certificates they hear of every authority that counts. */
export async function renewLocal({
  home,
  registry,
  identity,
  operator,
}: OperatorContext): Promise<readonly RenewedLocal[]> {
  const authority = identity.openAuthority(home.identity);
  const renewed: RenewedLocal[] = [];
  for (const name of identity.LOCAL_CREDENTIALS) {
    const directory = identity.credentialDirectory(home.identity, name);
    const { device, key } = identity.openCredential(directory);
    const csrDer = await identity.createSigningRequest(key);
    const next = await identity.renewDevice({ device, csrDer, by: operator.principal }, { authority, registry });
    identity.storeCertificate(directory, next);
    renewed.push({ name, device_id: device, not_after: new Date(next.notAfter).toISOString() });
  }
  return renewed;
}
