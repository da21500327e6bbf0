//! The description of the API: that of its routes, and what all of them share.

use utoipa::{
    OpenApi, PartialSchema, ToSchema,
    openapi::{
        Content, Ref, RefOr, ResponseBuilder,
        security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
    },
};

use super::super::answer::Body;

#[derive(OpenApi)]
#[openapi(info(
    title = "verdict",
    description = "Runs, what they wait for, and dead letters. Every refusal is `{\"error\": \"…\"}`: \
        400, 408, 413 or 415 for the request, 401 without the token, 403 for another site or a token \
        that only reads, 404 for what is not there, 409 for what was done or decided before, 422 for \
        what cannot be meant, 503 with `Retry-After` when the store or the queue is out of reach."
))]
struct Shared;

/// The whole description, of routes below `/api`.
pub(super) fn document(routes: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    let mut document = Shared::openapi().nest("/api", routes);
    let components = document.components.get_or_insert_default();
    components.schemas.insert(Body::name().into_owned(), Body::schema());
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("`server.token`, or `server.read_token` for what only reads"))
        .build();
    components.add_security_scheme("token", SecurityScheme::Http(bearer));
    let token = SecurityRequirement::new("token", Vec::<String>::new());
    // Without `server.token` the API is open to this machine.
    document.security = Some(vec![SecurityRequirement::default(), token]);
    let refusal = Content::new(Some(Ref::from_schema_name(Body::name())));
    let refusal = ResponseBuilder::new()
        .description("Refused: why, and what to do")
        .content("application/json", refusal)
        .build();
    let paths = document.paths.paths.values_mut();
    for operation in paths.flat_map(|item| {
        [&mut item.get, &mut item.post, &mut item.put, &mut item.delete].into_iter().flatten()
    }) {
        let responses = &mut operation.responses.responses;
        responses.insert("default".to_owned(), RefOr::T(refusal.clone()));
    }
    document
}
