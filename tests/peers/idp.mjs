// A real authorization server on loopback, built on npm `oidc-provider`: rotation and replay detection are on.
// usage: node idp.mjs PORT     prints READY, then a line for every grant that was given or refused, and what it is told;
//                             ends with its input
import { createRemoteJWKSet, jwtVerify } from 'jose';
import Provider, { errors } from 'oidc-provider';

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const seconds = Number(process.env.AT_TTL ?? 3600);
const native = ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'];
const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessToken = 'urn:ietf:params:oauth:token-type:access_token';
const exchanged = Number(process.env.EXCHANGED_TTL ?? seconds);
const provider = new Provider(issuer, {
  clients: [
    { client_id: 'native', token_endpoint_auth_method: 'none', application_type: 'native',
      redirect_uris: ['http://127.0.0.1/callback'], grant_types: native, response_types: ['code'] },
    { client_id: 'secretive', client_secret: 'canary-client-secret-9f3b', application_type: 'native',
      redirect_uris: ['http://127.0.0.1/callback'], grant_types: native, response_types: ['code'] },
    { client_id: 'weft', client_secret: 'canary-exchange-secret-51cd', grant_types: [exchange],
      redirect_uris: [], response_types: [] },
    { client_id: 'machine', client_secret: 'canary-machine-secret-77aa', grant_types: ['client_credentials'],
      redirect_uris: [], response_types: [] },
  ],
  pkce: { required: () => true },
  scopes: ['openid', 'offline_access', 'api.read', 'api.write'],
  rotateRefreshToken: true,
  issueRefreshToken: async (ctx, client) => client.grantTypeAllowed('refresh_token'),
  ttl: { AccessToken: seconds, ClientCredentials: seconds, RefreshToken: 3600, AuthorizationCode: 60, DeviceCode: 60,
         Interaction: 60, Session: 3600, Grant: 3600, IdToken: 60 },
  features: {
    devInteractions: { enabled: true }, clientCredentials: { enabled: true }, deviceFlow: { enabled: true },
    introspection: { enabled: true }, revocation: { enabled: true }, registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => `${issuer}/api`,
      useGrantedResource: () => true,
      getResourceServerInfo: (ctx, resource) => ({
        scope: 'api.read api.write', audience: resource, accessTokenTTL: seconds, accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
  extraTokenClaims: async (ctx, token) => ({ groups: token.accountId === 'ada' ? ['dev'] : ['ops'] }),
  findAccount: async (ctx, sub) => ({ accountId: sub, claims: async () => ({ sub }) }),
  cookies: { keys: ['test-only'] },
});
// RFC 8693: a token this provider has signed for somebody else becomes one for the resource that is asked for.
provider.registerGrantType(exchange, async (ctx) => {
  const { params, client } = ctx.oidc;
  if (params.subject_token_type !== accessToken) throw new errors.InvalidRequest('which kind of token is that?');
  const { payload } = await jwtVerify(params.subject_token, createRemoteJWKSet(new URL(`${issuer}/jwks`)), { issuer })
    .catch(() => { throw new errors.InvalidGrant('the subject_token is not good'); });
  if (payload.sub === 'eve') throw new errors.CustomOIDCProviderError('invalid_grant', `nothing for eve: ${params.subject_token}`);
  const place = params.resource ?? params.audience;
  if (!place || place.includes('nowhere')) throw new errors.InvalidTarget('there is no such resource');
  const token = new provider.AccessToken({ accountId: payload.sub, client, gty: 'token_exchange', expiresIn: exchanged,
    scope: params.scope ?? 'api.read', expiresWithSession: false, claims: {}, extra: { act: { sub: client.clientId } } });
  token.resourceServer = new provider.ResourceServer(place, { scope: 'api.read api.write', audience: place,
    accessTokenTTL: exchanged, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } });
  ctx.oidc.entity('AccessToken', token);
  ctx.body = { access_token: await token.save(), issued_token_type: accessToken, expires_in: token.expiration,
    token_type: 'Bearer', scope: token.scope };
}, ['subject_token', 'subject_token_type', 'requested_token_type', 'resource', 'audience', 'scope', 'actor_token',
    'actor_token_type']);
const say = (word, ctx, more = '') => console.log(word, ctx.oidc?.params?.grant_type ?? '-', more);
provider.on('grant.success', (ctx) => say('GIVEN', ctx));
provider.on('grant.error', (ctx, error) => say('REFUSED', ctx, error.error_description ?? error.message));
provider.on('server_error', (ctx, error) => console.log('BROKEN', error.stack));
provider.listen(port, '127.0.0.1', () => console.log('READY', issuer));
process.stdin.on('data', (words) => process.stdout.write(words)).on('end', () => process.exit());
