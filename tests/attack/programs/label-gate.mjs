/**
 * The smallest gate there is: an HTTP proxy that connects nowhere and answers with the label of the call that a connection came
 * from. On its standard streams: a line for each listener that it got, and `forget LABEL` closes one.
 */
const servers = new Map();
const say = (line) => process.stdout.write(`${line}\n`);

function serve(socket, label) {
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    // A tunnel: what comes through it is answered like everything else.
    if (bytes.toString('latin1').startsWith('CONNECT ')) socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    else socket.end(`HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ${label.length}\r\n\r\n${label}`);
  });
}

process.on('message', ({ label }, server) => {
  servers.set(label, server);
  server.on('connection', (socket) => serve(socket, label));
  say(`listener ${label}`);
});
// Nobody is left who could pass one.
process.on('disconnect', () => process.exit(0));

process.stdin.on('data', (bytes) => {
  for (const [, label] of bytes.toString().matchAll(/^forget (.*)$/gm)) {
    servers.get(label)?.close(() => say(`forgotten ${label}`));
    servers.delete(label);
  }
});
say(`ready ${process.pid} ${process.getuid()} ${Object.keys(process.env).toSorted().join(',')}`);
