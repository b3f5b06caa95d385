// One gateway: we register, say every ten seconds that we are here, and come back by ourselves when it was away.
'use strict';
const vscode = require('vscode');
const crypto = require('crypto');
const http = require('http');

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
const REQUEST_MS = 20_000;
const FETCH_MS = 40_000;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

class Link {
  constructor(told, instanceId, { server, operations, log, changed }) {
    Object.assign(this, { url: told.url, token: told.registrationToken, workspace: told.workspace, instanceId, server, operations, log, changed });
    this.secret = crypto.randomBytes(32).toString('hex'); // ours: who knows it may use this window
    this.pause = FIRST_PAUSE_MS;
    this.connected = false;
    this.stopped = false;
  }

  start() { this.register(); }

  now() { if (!this.connected) { clearTimeout(this.timer); this.pause = FIRST_PAUSE_MS; this.register(); } }

  stop() {
    this.stopped = true;
    clearTimeout(this.timer);
    this.server.forget(this.secret);
    if (this.connected) this.post('/ide/goodbye', this.secret, { connectionId: this.connectionId }).catch(() => {});
    this.connected = false;
  }

  async register() {
    if (this.stopped || this.registering) return;
    this.registering = true;
    try {
      if (!await this.operations.windowAnswers()) throw new Error('this window does not answer');
      const poll = vscode.workspace.getConfiguration('clawft').get('channel') === 'poll';
      const callback = poll ? null : await this.server.listen(this.secret);
      const answer = await this.post('/ide/register', this.token, {
        protocol: 1, callback, secret: this.secret, instanceId: this.instanceId,
        ide: vscode.env.appName, version: vscode.version, ...this.operations.about(), capabilities: ['diff', 'events'],
      });
      this.connectionId = answer.connectionId;
      this.every = answer.heartbeatSeconds * 1000;
      this.pause = FIRST_PAUSE_MS;
      this.connected = true;
      this.log.info(`registered at ${this.url} (weft ${answer.gatewayVersion}) for ${this.workspace}`);
      this.later(this.every, () => this.beat());
      if (poll) this.fetch(this.connectionId);
    } catch (problem) {
      if (this.pause === FIRST_PAUSE_MS || this.said !== problem.message) this.log.info(`${this.url}: ${problem.message}`);
      this.said = problem.message;
      this.lost();
    } finally {
      this.registering = false;
      this.changed();
    }
  }

  // With jitter, so that many windows do not all come at once.
  lost() {
    this.connected = false;
    this.changed();
    this.later(this.pause * (0.5 + Math.random() / 2), () => this.register());
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
  }

  later(ms, what) { clearTimeout(this.timer); if (!this.stopped) this.timer = setTimeout(what, ms); }

  async beat(events = []) {
    if (!this.connected || this.stopped) return;
    try {
      const window = await this.operations.windowAnswers();
      await this.post('/ide/heartbeat', this.secret, {
        connectionId: this.connectionId, window, events, dirty: this.operations.dirty(), ...this.operations.about(),
      });
      this.later(this.every, () => this.beat());
    } catch (problem) {
      if (!this.connected) return;
      this.log.info(`lost ${this.url}: ${problem.message}`);
      this.lost();
    }
  }

  // The other way round, where the gateway cannot call us: we ask for calls and post the answers.
  async fetch(connectionId) {
    while (!this.stopped && this.connected && this.connectionId === connectionId) {
      try {
        const { calls } = await this.request('GET', `/ide/next?connection=${connectionId}`, this.secret, undefined, FETCH_MS);
        for (const call of calls) {
          if (call.cancel) { this.operations.cancel(`${this.secret}/${call.cancel}`); continue; }
          this.operations.run(`${this.secret}/${call.id}`, call.method, call.params, call.deadlineMs)
            .then(answer => this.post('/ide/answer', this.secret, { connectionId, id: call.id, answer }))
            .catch(problem => this.log.warn(`an answer did not arrive: ${problem.message}`));
        }
      } catch (problem) {
        if (this.connected && this.connectionId === connectionId) { this.log.info(`lost ${this.url}: ${problem.message}`); this.lost(); }
        return;
      }
    }
  }

  post(page, token, body) { return this.request('POST', page, token, JSON.stringify(body), REQUEST_MS); }

  request(method, page, token, body, ms) {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }) };
      const request = http.request(this.url + page, { method, headers, timeout: ms }, response => {
        const chunks = [];
        let size = 0;
        response.on('data', chunk => { size += chunk.length; if (size > MAX_ANSWER_BYTES) request.destroy(new Error('the answer is too large')); else chunks.push(chunk); });
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode !== 200) return reject(new Error(`status ${response.statusCode}: ${text.slice(0, 200)}`));
          try { resolve(JSON.parse(text)); } catch (problem) { reject(problem); }
        });
      });
      request.on('timeout', () => request.destroy(new Error('no answer in time')));
      request.on('error', reject);
      request.end(body);
    });
  }
}

module.exports = { Link };
