import { type DescField, type DescMessage, type DescMethod, type DescService, ScalarType } from '@bufbuild/protobuf';
import { RPC_ACTIONS, rpcName } from '../../apps/daemon/src/interceptors/rpc-actions.ts';
import { type CommentedApi, readProtos } from './read-protos.ts';

/** docs/reference/api.md, from the comments of the protos and the daemon's table of actions. */
export function renderApiReference(): string {
  const api = readProtos();
  const shared = api.messages.filter((message) => !isOfOneCall(message, api));
  return [
    INTRODUCTION,
    services(api),
    ...api.services.map((service) => renderService(service, api)),
    '## Messages that several calls share',
    ...shared.map((message) => renderMessage(message, api)),
    '## Words',
    ...api.enums.map((each) => renderEnum(each, api)),
  ]
    .join('\n\n')
    .concat('\n');
}

const INTRODUCTION = `<!-- Generated from packages/api/proto and apps/daemon/src/interceptors/rpc-actions.ts by \`npm run docs\`; do not edit. -->

# The API

palyrad serves \`palyra.v1\` over HTTP/2 and HTTP/1.1 with mutual TLS: the [Connect](https://connectrpc.com/docs/protocol), gRPC and gRPC-web protocols on one port, with Protocol Buffers or JSON. TypeScript programs use the SDK, [\`@palyra/client\`](../../packages/client/README.md); [examples/curl](../../examples/curl/README.md) shows the same with nothing but curl.

- **Where.** The port is in \`palyrad.json\` in the home. A call is a POST to \`https://HOST:PORT/palyra.v1.SERVICE/CALL\`.
- **Who.** The certificate of the connection says who calls, and nothing in a message does. \`identity/local-agent\` and \`identity/operator\` in the home are two credentials to begin with; [identity.md](identity.md) has the others.
- **Whether.** Each call is one action that the policies decide, in the tables below. \`policy.md\` says how to write them.
- **Errors.** The status is Connect's; a detail of the type \`palyra.v1.ErrorDetail\` has the code that the command line prints, a sentence and a fix.
- **JSON.** Names are in lowerCamelCase, 64-bit numbers and times are strings, bytes are base64, as protobuf has it. Fields whose names end in \`Json\` hold JSON as text: it is passed on as it is.
- **Ids** may be given by their last 4 or more characters where it says so.`;

function services({ services: all, commentOf }: CommentedApi): string {
  const rows = all.map((each) => `| [${each.name}](#${each.name.toLowerCase()}) | ${inTable(commentOf(each))} |`);
  return ['| Service | About |', '|---|---|', ...rows].join('\n');
}

function renderService(service: DescService, api: CommentedApi): string {
  const rows = service.methods.map(
    (method) => `| [${method.name}](#${anchorOf(method)}) | ${inTable(api.commentOf(method))} | ${actionOf(method)} |`,
  );
  return [
    `## ${service.name}`,
    api.commentOf(service),
    ['| Call | Does | Action |', '|---|---|---|', ...rows].join('\n'),
    ...service.methods.map((method) => renderMethod(method, api)),
  ].join('\n\n');
}

function renderMethod(method: DescMethod, api: CommentedApi): string {
  const { input, output } = method;
  return [
    `### ${headingOf(method)}`,
    `${api.commentOf(method)} ${STREAMS[method.methodKind]}`.trim(),
    fieldsOrNothing('Takes', input, api),
    fieldsOrNothing('Gives', output, api),
  ].join('\n\n');
}

const STREAMS: Readonly<Record<DescMethod['methodKind'], string>> = {
  unary: '',
  server_streaming: 'Gives a stream.',
  client_streaming: 'Takes a stream.',
  bidi_streaming: 'Takes a stream, and gives one.',
};

function fieldsOrNothing(verb: 'Takes' | 'Gives', message: DescMessage, api: CommentedApi): string {
  if (message.fields.length === 0) return `${verb} nothing.`;
  return `${verb} \`${message.name}\`:\n\n${fieldTable(message, api)}`;
}

function renderMessage(message: DescMessage, api: CommentedApi): string {
  const fields = message.fields.length === 0 ? 'It has no fields.' : fieldTable(message, api);
  return [`### ${message.name}`, api.commentOf(message), fields].join('\n\n');
}

function fieldTable(message: DescMessage, api: CommentedApi): string {
  const rows = message.fields.map((field) => {
    const choice = field.oneof === undefined ? '' : `One of \`${field.oneof.name}\`. `;
    return `| \`${field.jsonName}\` | ${kindOf(field)} | ${choice}${inTable(api.commentOf(field))} |`;
  });
  return ['| Field | Type | Meaning |', '|---|---|---|', ...rows].join('\n');
}

function kindOf(field: DescField): string {
  if (field.fieldKind === 'list') return `list of ${singleOf(field)}`;
  return singleOf(field);
}

function singleOf(field: DescField): string {
  if (field.message !== undefined) {
    const { name, typeName } = field.message;
    return typeName === 'google.protobuf.Timestamp' ? 'time' : `[${name}](#${name.toLowerCase()})`;
  }
  if (field.enum !== undefined) return `[${field.enum.name}](#${field.enum.name.toLowerCase()})`;
  return field.scalar === undefined ? 'map' : (ScalarType[field.scalar]?.toLowerCase() ?? '');
}

function renderEnum(each: CommentedApi['enums'][number], api: CommentedApi): string {
  const rows = each.values.map((value) => `| \`${value.name}\` | ${inTable(api.commentOf(value))} |`);
  return [`### ${each.name}`, api.commentOf(each), ['| Word | Meaning |', '|---|---|', ...rows].join('\n')].join(
    '\n\n',
  );
}

/** Told with its call, and nowhere else. */
function isOfOneCall(message: DescMessage, { services: all, messages }: CommentedApi): boolean {
  const isTaken = all.some(({ methods }) =>
    methods.some(({ input, output }) => input === message || output === message),
  );
  return isTaken && !messages.some(({ fields }) => fields.some((field) => field.message === message));
}

function actionOf(method: DescMethod): string {
  const known = RPC_ACTIONS[rpcName(method)];
  return known === undefined ? '' : `\`${known.action}\``;
}

function headingOf({ parent, name }: DescMethod): string {
  return `${parent.name}/${name}`;
}

/** As GitHub makes it of the heading. */
function anchorOf(method: DescMethod): string {
  return headingOf(method).toLowerCase().replace('/', '');
}

function inTable(comment: string): string {
  return comment.replaceAll('\n', ' ').replaceAll('|', '\\|');
}
