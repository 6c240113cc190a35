; The first pattern that defines a name at a place tells its kind.

(class_definition name: (identifier) @name) @definition.class
(function_definition name: (identifier) @name) @definition.function
(type_alias_statement left: (type (identifier) @name)) @definition.type
(type_alias_statement left: (type (generic_type (identifier) @name))) @definition.type

; Constants of the module

(expression_statement
  (assignment left: (identifier) @name (#match? @name "^_?[A-Z]")) @definition.constant)
(expression_statement
  (assignment left: (identifier) @name type: (_)) @definition.constant)

; Functions have names of their own

(function_definition) @local.scope
(lambda) @local.scope

(parameters (identifier) @local.definition)
(lambda_parameters (identifier) @local.definition)
(default_parameter name: (identifier) @local.definition)
(typed_parameter (identifier) @local.definition)
(typed_default_parameter name: (identifier) @local.definition)
(list_splat_pattern (identifier) @local.definition)
(dictionary_splat_pattern (identifier) @local.definition)
(assignment left: (identifier) @local.definition)
(pattern_list (identifier) @local.definition)
(tuple_pattern (identifier) @local.definition)
(for_statement left: (identifier) @local.definition)
(for_in_clause left: (identifier) @local.definition)
(named_expression name: (identifier) @local.definition)
(as_pattern_target (identifier) @local.definition)

; References

(call function: (identifier) @name) @reference.call
(call function: (attribute attribute: (identifier) @name)) @reference.method
(decorator (identifier) @name) @reference.decorator
(decorator (attribute attribute: (identifier) @name)) @reference.member
(import_from_statement name: (dotted_name (identifier) @name .)) @reference.import
(import_from_statement
  name: (aliased_import name: (dotted_name (identifier) @name .))) @reference.import
(class_definition superclasses: (argument_list (identifier) @name)) @reference.class
(class_definition
  superclasses: (argument_list (attribute attribute: (identifier) @name))) @reference.member
(type (identifier) @name) @reference.type
(type (attribute attribute: (identifier) @name)) @reference.member
(generic_type (identifier) @name) @reference.type

; Classes and constants by their capital letter, functions where they are handed on

(attribute attribute: (identifier) @name (#match? @name "^_?[A-Z]")) @reference.member
((identifier) @name (#match? @name "^_?[A-Z]")) @reference.value
(argument_list (identifier) @name) @reference.value
(keyword_argument value: (identifier) @name) @reference.value
(keyword_argument name: (identifier) @ignore)
(pair value: (identifier) @name) @reference.value
