// Where gateways call us: on 127.0.0.1, a port of the system's choice, with the secret we gave to each of them.
'use strict';
const crypto = require('crypto');
const http = require('http');

const MAX_BODY_BYTES = 4 * 1024 * 1024;

class Server {
  constructor(operations, log) {
    this.operations = operations;
    this.log = log;
    this.secrets = new Set();
  }

  // The address to be called at, for whoever knows this secret.
  async listen(secret) {
    this.secrets.add(secret);
    this.starting ??= new Promise((resolve, reject) => {
      this.http = http.createServer((request, response) => this.serve(request, response));
      this.http.maxHeadersCount = 50;
      this.http.on('error', reject);
      this.http.listen(0, '127.0.0.1', () => resolve(this.http.address().port));
    });
    this.port = await this.starting;
    return `http://127.0.0.1:${this.port}/`;
  }

  forget(secret) { this.secrets.delete(secret); }
  dispose() { this.http?.close(); this.http?.closeAllConnections?.(); }

  // Told apart in the same time whatever is sent. Web pages cannot leave out their Origin, nor choose our Host.
  caller(request) {
    if (request.headers.origin !== undefined) return { status: 403, why: 'requests from web pages are refused' };
    if (request.headers.host !== `127.0.0.1:${this.port}`) return { status: 403, why: 'this host is not served here' };
    const told = digest((request.headers.authorization || '').replace(/^Bearer /i, ''));
    for (const secret of this.secrets) if (crypto.timingSafeEqual(told, digest(secret))) return { secret };
    return { status: 401, why: 'the token is wrong' };
  }

  serve(request, response) {
    const refuse = (status, why) => {
      this.log.warn(`refused a request: ${why}`);
      answer(response, status, { error: { code: 'failed', message: why } });
      request.resume();
    };
    const { secret, status, why } = this.caller(request);
    if (!secret) return refuse(status, why);
    if (request.method === 'DELETE') {
      this.operations.cancel(`${secret}/${request.url.slice(1)}`);
      return answer(response, 200, { result: {} });
    }
    if (request.method !== 'POST' || request.url !== '/') return refuse(404, 'there is nothing here');
    if (!/^application\/json\b/i.test(request.headers['content-type'] || '')) return refuse(415, 'the body must be JSON');
    if (+request.headers['content-length'] > MAX_BODY_BYTES) return refuse(413, 'the body is too large');
    const chunks = [];
    let size = 0;
    request.on('data', chunk => {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) { request.removeAllListeners('data'); refuse(413, 'the body is too large'); } else chunks.push(chunk);
    });
    request.on('end', async () => {
      if (size > MAX_BODY_BYTES) return;
      let asked;
      try { asked = JSON.parse(Buffer.concat(chunks).toString()); } catch (problem) { return refuse(400, problem.message); }
      const id = `${secret}/${request.headers['x-request-id']}`;
      answer(response, 200, await this.operations.run(id, asked.method, asked.params || {}, +request.headers['x-deadline-ms'] || 5000));
    });
  }
}

function digest(text) { return crypto.createHash('sha256').update(text).digest(); }

function answer(response, status, body) {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

module.exports = { Server };
