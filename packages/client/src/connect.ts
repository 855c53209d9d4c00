import type { TlsFiles } from './connection/client-tls.ts';
import { openDeviceCredential } from './connection/device-credential.ts';
import {
  checkAddress,
  findHome,
  type LocalCredential,
  readCredential,
  readListening,
} from './connection/find-palyrad.ts';
import { type Channel, type Endpoint, openChannel } from './connection/open-channel.ts';
import type { ReconnectOptions } from './connection/reconnect.ts';
import { type Client, openClient } from './open-client.ts';

export type ConnectOptions = (HomeOptions | BoxOptions | DeviceOptions | AddressOptions | TokenOptions) & {
  /** How long streams try to come back when the connection is lost. */
  readonly reconnect?: ReconnectOptions;
};

/** To the palyrad of a home on this machine. */
export interface HomeOptions {
  /** PALYRA_HOME, or `~/.palyra`, unless told. */
  readonly home?: string;
  /** Which of the home's two credentials: `agent` unless told. Only what a person uses may be the operator. */
  readonly as?: LocalCredential;
  /** Another credential than the home's two; a function is asked again for each connection. */
  readonly tls?: TlsFiles | (() => TlsFiles);
}

/** From inside a box of `palyra wrap`, as the agent that is in it: `PALYRA_LISTENER` says where. */
export interface BoxOptions {
  readonly listener: string;
}

/** To the palyrad of a home that this device joined. Its certificate is renewed in time, here, for as long as it is used. */
export interface DeviceOptions {
  readonly address: string;
  /** The directory that `palyra device join` filled: `identity/joined` of this device's own home. */
  readonly device: string;
}

/** To a palyrad elsewhere, with a device's certificate; a function is asked again for each connection. */
export interface AddressOptions {
  readonly address: string;
  readonly tls: TlsFiles | (() => TlsFiles);
}

/** To a palyrad elsewhere, with a token. */
export interface TokenOptions {
  readonly address: string;
  /** The authorities of its home, PEM. */
  readonly ca: string;
  readonly token: string;
}

/**
 * Without options: to the palyrad of this machine, as an agent. Throws `client.unreachable` when none answers,
 * `client.server_not_proven` when somebody else does, `client.credential_missing`, `client.credential_unsafe`.
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const channel = 'device' in options ? await openDeviceChannel(options) : openChannel(endpointFinder(options));
  try {
    await channel.connect();
  } catch (error) {
    channel.close();
    throw error;
  }
  return openClient({ channel, ...(options.reconnect === undefined ? {} : { reconnect: options.reconnect }) });
}

/** Before it connects, so that a program that runs for a moment renews too; then for as long as the channel is open. */
async function openDeviceChannel({ address, device: directory }: DeviceOptions): Promise<Channel> {
  const credential = openDeviceCredential({ directory, address: checkAddress(address) });
  credential.read();
  await credential.renewWhenDue();
  const channel = openChannel(() => ({ address, tls: credential.read() }));
  const stop = credential.keepRenewed();
  return {
    ...channel,
    close() {
      stop();
      channel.close();
    },
  };
}

/** Looks anew at each connection: palyrad may listen elsewhere by then, and the certificate may have been renewed. */
function endpointFinder(options: Exclude<ConnectOptions, DeviceOptions>): () => Endpoint {
  if ('listener' in options) {
    const listener = checkAddress(options.listener);
    return () => ({ listener });
  }
  if ('token' in options) {
    const { ca, token } = options;
    const address = checkAddress(options.address);
    return () => ({ address, tls: { ca }, token });
  }
  if ('address' in options) {
    const address = checkAddress(options.address);
    return () => ({ address, tls: filesOf(options.tls) });
  }
  const { home = findHome(), as = 'agent', tls } = options;
  return () => {
    const { address } = readListening(home);
    return { address, tls: tls === undefined ? readCredential(home, as) : filesOf(tls) };
  };
}

function filesOf(tls: TlsFiles | (() => TlsFiles)): TlsFiles {
  return typeof tls === 'function' ? tls() : tls;
}
