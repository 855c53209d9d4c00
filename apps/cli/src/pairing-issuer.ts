import type { DeviceKind, FindDevice, IssuePairedCertificate, ListenerCredential } from '@palyra/identity';
import type { CommandContext } from './command.ts';
import { openAsOperator } from './identity-home.ts';

/** What `palyra device pair` needs of the home's certificate authority and registry. */
export interface PairingIssuer {
  /** The CA's certificates, the one that signs first. */
  readonly caPem: string;
  readonly issue: IssuePairedCertificate;
  readonly findDevice: FindDevice;
  /** For the listener at this address. */
  listenerCredential(address: string): Promise<ListenerCredential>;
  /** Whose device it will be. */
  principalOf(request: { readonly kind: DeviceKind; readonly name: string }): string;
  close(): Promise<void>;
}

export type OpenPairingIssuer = (context: CommandContext, principal: string | undefined) => Promise<PairingIssuer>;

/** The one place where pairing meets the certificate authority. Throws `identity.not_permitted` and what opening throws. */
export const openPairingIssuer: OpenPairingIssuer = async (context, principal) => {
  const { home, registry, identity, operator, close } = await openAsOperator(context, 'admin');
  try {
    const authority = identity.openAuthority(home.identity);
    const { principal: by } = operator;
    const issuer = identity.createPairedIssuer(
      { authority, registry },
      { by, principal, isOurs: (address) => identity.isOwnAddress(address) },
    );
    return {
      caPem: authority.bundle(),
      listenerCredential: (address) => identity.issueListenerCredential(authority, address),
      ...issuer,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};
