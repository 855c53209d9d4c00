import { request } from 'node:https';
import { clientTlsOptions, openAgentCredential } from '@palyra/identity';

/** What an agent starts: `identity-agent.ts IDENTITY PORT` asks the daemon who it is, with the local agent's credential. */
const [identity = '', port = ''] = process.argv.slice(2);
const { tls } = openAgentCredential(identity);
const options = { host: '127.0.0.1', port: Number(port), path: '/', agent: false, ...clientTlsOptions(tls) } as const;
request(options, (response) => void response.pipe(process.stdout)).end();
