import { connect, type TLSSocket } from 'node:tls';
import { within } from './frames.ts';
import { type JoinDeps, type JoinedDevice, type JoinInput, joinPairing } from './join-pairing.ts';
import { type PairingAddress, renderAddress } from './join-url.ts';
import { PairingError } from './pairing-error.ts';
import { EXPORTER_BYTES, EXPORTER_LABEL, PAIRING_ALPN } from './pairing-listener.ts';

/** Connects, proves, asks, and returns with a key that never left this device and a certificate for it. Throws `PairingError`. */
export async function joinDevice(address: PairingAddress, input: JoinInput, deps: JoinDeps): Promise<JoinedDevice> {
  const socket = await openConnection(address, deps);
  try {
    const exporter = socket.exportKeyingMaterial(EXPORTER_BYTES, EXPORTER_LABEL, Buffer.alloc(0));
    return await joinPairing({ stream: socket, exporter, peer: renderAddress(address) }, input, deps);
  } finally {
    socket.destroySoon();
  }
}

async function openConnection(address: PairingAddress, deps: JoinDeps): Promise<TLSSocket> {
  const { host, port } = address;
  const socket = connect({
    host,
    port,
    minVersion: 'TLSv1.3',
    ALPNProtocols: [PAIRING_ALPN],
    // SECURITY: T-34 — nobody can vouch for this certificate yet. The PAKE does, for the whole connection: its channel
    // binding is part of the generator, and nothing is believed before the host has proven the secret.
    rejectUnauthorized: false,
  });
  let reached = false;
  socket.once('connect', () => {
    reached = true;
  });
  const secured = new Promise<void>((resolve, reject) => {
    socket.once('secureConnect', resolve);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('The connection was closed.')));
  });
  try {
    await within(secured, deps.deadlines.handshakeMs, deps.clock);
  } catch (cause) {
    socket.destroy();
    throw reached ? notOurs(address, cause) : unreachable(address, cause);
  }
  socket.on('error', () => undefined);
  if (socket.alpnProtocol === PAIRING_ALPN) return socket;
  socket.destroy();
  throw notOurs(address);
}

function unreachable(address: PairingAddress, cause: unknown): PairingError {
  return new PairingError('pairing.unreachable', `Nothing answers at ${renderAddress(address)}.`, {
    fix: 'Check the address, that "palyra device pair" is still running there, and that no firewall is in between.',
    cause,
  });
}

function notOurs(address: PairingAddress, cause?: unknown): PairingError {
  const message = `What answers at ${renderAddress(address)} is not a pairing listener, or has no place left.`;
  return new PairingError('pairing.not_our_listener', message, {
    fix: 'Check the port: it is the one that "palyra device pair" printed.',
    cause,
  });
}
