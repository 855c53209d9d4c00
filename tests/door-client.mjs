// One call of the API over the listener of a box, by whoever is in it: node door-client.mjs Service/Method JSON
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';

const [, , method, body = '{}'] = process.argv;
const session = connectHttp2('http://127.0.0.1:3128', {
  createConnection() {
    const socket = connect(3128, '127.0.0.1');
    socket.write('PALYRA1\n');
    return socket;
  },
});
session.on('error', (error) => {
  console.log(`no palyrad: ${error.code ?? error.message}`);
  process.exit(9);
});
const request = session.request({
  ':method': 'POST',
  ':path': `/palyra.v1.${method}`,
  'content-type': 'application/json',
  'connect-protocol-version': '1',
});
let [status, text] = [0, ''];
request.on('response', (headers) => {
  status = headers[':status'];
});
request.on('data', (bytes) => {
  text += bytes;
});
request.on('error', () => undefined);
request.on('close', () => {
  console.log(status === 0 ? 'no palyrad: closed' : `${status} ${text}`);
  process.exit(status === 200 ? 0 : 1);
});
request.end(body);
