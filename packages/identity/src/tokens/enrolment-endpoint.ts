import type { IncomingMessage, ServerResponse } from 'node:http';
import { IdentityError } from '../identity-error.ts';
import type { RenewalAnswer } from '../renewal/renewal-endpoint.ts';
import { readBody } from '../renewal/renewal-endpoint.ts';
import { answerJson, answerRefused } from '../tls/guard-requests.ts';
import type { Tokens } from './open-tokens.ts';

/** Where a device with an enrolment token gets its first certificate. The listener has no certificate of it to ask for. */
export const ENROLMENT_PATH = '/identity/v1/enrol';

export interface EnrolmentAnswer extends RenewalAnswer {
  readonly device: string;
}

/** `Authorization: Bearer TOKEN`, body `{"csr": BASE64, "name": NAME}`. Never rejects: whoever asks may hang up at any time. */
export function createEnrolmentEndpoint(
  tokens: Pick<Tokens, 'enrol'>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    try {
      await enrol(tokens, request, response);
    } catch (error) {
      if (response.headersSent || response.destroyed) return void response.destroy();
      if (!(error instanceof IdentityError)) return void response.writeHead(500).end();
      answerJson(response, 409, { error: { code: error.code, message: error.message, fix: error.fix } });
    }
  };
}

async function enrol(tokens: Pick<Tokens, 'enrol'>, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = request.method === 'POST' ? await readBody(request) : undefined;
  const { csr, name } = body ?? {};
  if (typeof csr !== 'string' || typeof name !== 'string') {
    const message = 'Send POST with the body {"csr": BASE64, "name": NAME}.';
    return answerJson(response, 400, { error: { code: 'identity.invalid_request', message } });
  }
  const text = (request.headers.authorization ?? '').replace(/^Bearer /i, '');
  const { remoteAddress: address } = request.socket;
  const outcome = await tokens.enrol({ text, address, name, csrDer: Buffer.from(csr, 'base64') });
  if (outcome.kind === 'refused') return answerRefused(response, outcome);
  const { certificatePem: certificate, caPem: authorities, device } = outcome;
  answerJson(response, 200, { certificate, authorities, device } satisfies EnrolmentAnswer);
}
